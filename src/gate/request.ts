/**
 * Exactly what is to be done, in the form that is shown, hashed and signed: a command with everything that makes it what it
 * is, or what a tool says that it is about to do.
 */

import { createHash, randomBytes } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { delimiter, join, resolve } from "node:path";

export type EnvValue = { value: string } | { sha256: string };

export interface CommandRequest {
  kind: "command";
  argv: string[];
  cwd: string;
  /** The program that the first word leads to. */
  program: { path: string; sha256: string };
  /** Everything that it sees. Values that were not written on the command line only with their hash, over the nonce and them. */
  env: Record<string, EnvValue>;
  /** Of the files that its words name. */
  files: Record<string, string>;
  host: string;
  user: string;
  nonce: string;
}

/** What a tool is about to do; whatever it says goes along as it says it. */
export interface ToolRequest {
  kind: "tool";
  tool: string;
  from: string;
  details: unknown;
  cwd: string;
  host: string;
  user: string;
  nonce: string;
}

export class CannotBind extends Error {
  override name = "CannotBind";
}

/** What nearly every program needs to work at all. It is shown, and bound like everything else. */
const usualEnv = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"];
/** Beyond that a file takes too long to be hashed while somebody waits. */
const fileBytesMax = 512 * 1024 * 1024;
const filesMax = 200;

export interface Naming {
  cwd: string;
  /** `NAME` as it is, or `NAME=VALUE`. */
  env: readonly string[];
  files: readonly string[];
  surroundings: NodeJS.ProcessEnv;
}

export function bindCommand(
  argv: readonly string[],
  { cwd, env, files, surroundings }: Naming,
): CommandRequest {
  const [name = ""] = argv;
  const nonce = randomBytes(16).toString("hex");
  const real = realpathSync(cwd);
  const path = programAt(name, real, surroundings.PATH ?? "");
  const named = argv.slice(1).flatMap((word) => [word, word.replace(/^[^=]*=/, "")]);
  const mustBe = files.map((file) => resolve(real, file));
  const found = [...new Set([...mustBe, ...named.map((word) => resolve(real, word)).filter(isFile)])];
  if (found.length > filesMax) throw new CannotBind(`more than ${filesMax} files are named.`);
  return {
    kind: "command",
    argv: [...argv],
    cwd: real,
    program: { path, sha256: hashOfFile(path) },
    env: envOf(env, surroundings, nonce),
    files: Object.fromEntries(found.map((file) => [file, hashOfFile(file)])),
    ...whoAndWhere(),
    nonce,
  };
}

export function toolRequest(fields: Pick<ToolRequest, "tool" | "from" | "details" | "cwd">): ToolRequest {
  return { kind: "tool", ...fields, ...whoAndWhere(), nonce: randomBytes(16).toString("hex") };
}

/** Why what was approved cannot be run any more; null when everything is as it was. */
export function whatChanged({ program, files }: CommandRequest): string | null {
  for (const [path, sha256] of [[program.path, program.sha256] as const, ...Object.entries(files)]) {
    try {
      if (hashOfFile(path) !== sha256) return `${path} was changed after it was asked about`;
    } catch {
      return `${path} cannot be read any more`;
    }
  }
  return null;
}

/** The values behind the names; throws where one is no longer what was bound. */
export function environmentOf(
  { env, nonce }: CommandRequest,
  surroundings: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).map(([name, bound]) => {
      if ("value" in bound) return [name, bound.value];
      const value = surroundings[name] ?? "";
      if (hashOf(`${nonce}\n${value}`) !== bound.sha256) throw new CannotBind(`${name} was changed.`);
      return [name, value];
    }),
  );
}

function envOf(
  named: readonly string[],
  surroundings: NodeJS.ProcessEnv,
  nonce: string,
): Record<string, EnvValue> {
  const env: Record<string, EnvValue> = {};
  for (const name of usualEnv) {
    const value = surroundings[name];
    if (value !== undefined) env[name] = { value };
  }
  for (const each of named) {
    const [, name = "", value] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(each) ?? [];
    if (name === "") throw new CannotBind(`${JSON.stringify(each)} is not NAME or NAME=VALUE.`);
    const inherited = surroundings[name];
    if (value !== undefined) env[name] = { value };
    else if (inherited === undefined) throw new CannotBind(`${name} is not set.`);
    else env[name] = { sha256: hashOf(`${nonce}\n${inherited}`) };
  }
  return env;
}

function whoAndWhere(): { host: string; user: string } {
  return { host: hostname(), user: userInfo().username };
}

function programAt(name: string, cwd: string, path: string): string {
  const places = name.includes("/")
    ? [resolve(cwd, name)]
    : path.split(delimiter).map((place) => join(resolve(cwd, place), name));
  const found = places.find((place) => isFile(place) && isExecutable(place));
  if (found === undefined) throw new CannotBind(`there is no program ${JSON.stringify(name)}.`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function hashOfFile(path: string): string {
  const { size } = statSync(path);
  if (size > fileBytesMax) throw new CannotBind(`${path} is larger than ${fileBytesMax} bytes.`);
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
