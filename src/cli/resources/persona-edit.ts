/** `bridle persona edit`: a persona as YAML in an editor, and what changed in it as one request. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diff, isDeepStrictEqual } from "node:util";
import { parse, stringify } from "yaml";
import { suggestion } from "../../project/suggestion.ts";
import type { BridleClient, CreatePersonaRequest as CreatePersona, Persona } from "../../sdk/client/index.ts";
import { CreatePersonaRequest, UpdatePersonaRequest } from "../../surfaces/harn/schemas-policy.ts";
import { checker } from "../../surfaces/validate.ts";
import { about } from "../terminal/output.ts";
import { ask, canAsk } from "../terminal/prompt.ts";
import { styleOf } from "../terminal/style.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";

export interface EditSettings {
  file?: string;
  yes?: true;
}

type Fields = Record<string, unknown>;

/** Null when nothing was changed, or the person wants none of it. */
export async function editPersona(
  client: BridleClient,
  id: string,
  settings: EditSettings,
): Promise<Persona | null> {
  const persona = await client.personas.get(id);
  const before = editable(persona);
  const edited = await editedText(stringify(before), settings);
  try {
    const after = await about(settings.file ?? edited.file, () => fieldsIn(edited.text));
    const changes = changesOf(before, after);
    if (Object.keys(changes).length === 0) return null;
    process.stderr.write(differenceText(stringify(before), stringify({ ...before, ...changes })));
    if (settings.yes !== true && !(await agrees(id))) return null;
    return await client.personas.update(id, changes);
  } catch (error) {
    edited.keep();
    throw error;
  }
}

export async function personaIn(file: string): Promise<CreatePersona> {
  return await about(file, () => {
    const fields = fieldsIn(readFileSync(file, "utf8"));
    return checker(CreatePersonaRequest)({
      version: "1",
      receipt_policy: "required",
      description: "",
      ...fields,
    });
  });
}

/** What a change may name; the rest is the server's. */
function editable(persona: Persona): Fields {
  const names = Object.keys(UpdatePersonaRequest.properties);
  return Object.fromEntries(Object.entries(persona).filter(([name]) => names.includes(name)));
}

interface Edited {
  text: string;
  file: string;
  /** So that what was typed is not lost with a mistake in it. */
  keep(): void;
}

async function editedText(before: string, { file }: EditSettings): Promise<Edited> {
  if (file !== undefined) {
    return { text: await about(file, () => readFileSync(file, "utf8")), file, keep() {} };
  }
  if (!canAsk()) throw new Error("there is no terminal for an editor: give the changed persona with --file.");
  const folder = mkdtempSync(join(tmpdir(), "bridle-persona-"));
  const path = join(folder, "persona.yaml");
  writeFileSync(path, before, { mode: 0o600 });
  openEditor(path);
  const text = readFileSync(path, "utf8");
  rmSync(folder, { recursive: true, force: true });
  const kept = join(process.cwd(), "persona.edited.yaml");
  return {
    text,
    file: path,
    keep() {
      writeFileSync(kept, text, { mode: 0o600 });
      process.stderr.write(`Your edit is kept: bridle persona edit … --file ${oneLine(kept)}\n`);
    },
  };
}

/** As git does: the variable may hold arguments too, so a shell reads it. */
function openEditor(file: string): void {
  const editor = process.env.VISUAL || process.env.EDITOR || "vi";
  const { status, error } = spawnSync("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${oneLine(editor)} ended with ${status}; nothing was changed.`);
}

function fieldsIn(text: string): Fields {
  const value: unknown = parse(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("a persona is a map of fields.");
  }
  const names = Object.keys(UpdatePersonaRequest.properties);
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) throw new Error(`a persona has no field ${name}.${suggestion(name, names)}`);
  }
  return { ...value };
}

/** A field that was deleted gets the empty value of its kind. */
function changesOf(before: Fields, after: Fields): Fields {
  const changed = Object.entries(after).filter(([name, value]) => !isDeepStrictEqual(value, before[name]));
  // Without a version, the server counts it up.
  const gone = Object.entries(before)
    .filter(([name]) => name !== "version" && !(name in after))
    .map(([name, value]) => [name, emptyLike(name, value)] as const)
    .filter(([name, empty]) => !isDeepStrictEqual(empty, before[name]));
  return Object.fromEntries([...changed, ...gone]);
}

function emptyLike(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value === "object" && value !== null) return {};
  if (typeof value === "boolean") return false;
  if (name === "owner" || name === "quota_id") return null;
  throw new Error(`a persona cannot be without ${name}.`);
}

/** Lines that are gone and lines that are new, each with two lines around it. */
function differenceText(before: string, after: string): string {
  const lines = diff(before.trimEnd().split("\n"), after.trimEnd().split("\n"));
  const { danger, good, faint } = styleOf(process.stderr);
  const isNear = (at: number) => lines.slice(Math.max(0, at - 2), at + 3).some(([kind]) => kind !== 0);
  return lines
    .flatMap(([kind, line], at) => {
      const text = escapeControls(line);
      // -1 is what the second text has and the first has not.
      if (kind === -1) return [good(`+ ${text}`)];
      if (kind === 1) return [danger(`- ${text}`)];
      return isNear(at) ? [faint(`  ${text}`)] : [];
    })
    .map((line) => `${line}\n`)
    .join("");
}

async function agrees(id: string): Promise<boolean> {
  if (!canAsk()) throw new Error("there is no terminal to ask at: give --yes to save.");
  const answer = await ask(`Save this change of ${oneLine(id)}? Type yes: `);
  return answer?.trim().toLowerCase() === "yes";
}
