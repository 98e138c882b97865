/** `bridle gate install` and `uninstall`: the hook in a tool's configuration, and out of it again. Everything else in there stays. */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { adapterNamed } from "../../gate/hooks/adapters.ts";
import { projectPolicy, trustPolicy } from "../../gate/policy-files.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import { type JsonSettings, show } from "../terminal/output.ts";

export interface InstallSettings extends JsonSettings {
  user?: true;
}

const marker = "gate hook ";

export function install(name: string, settings: InstallSettings): void {
  const adapter = adapterNamed(name);
  const file = fileFor(name, settings);
  const command = hookCommand(name);
  const before = adapter.without(readConfig(file), isOurs);
  writeConfig(file, adapter.withHook(before, command));
  const policy = projectPolicy(process.cwd());
  if (policy !== null) trustPolicy(policy);
  show(settings, { file, command, policy, contract: adapter.contract }, () => {
    const trusted =
      policy === null
        ? "There is no bridle.gate.yaml yet, so everything is asked."
        : `${policy} is trusted as it is now.`;
    return `${file} has the hook (${adapter.contract}).\n${trusted}\n`;
  });
}

export function uninstall(name: string, settings: InstallSettings): void {
  const adapter = adapterNamed(name);
  const file = fileFor(name, settings);
  const config = existsSync(file) ? adapter.without(readConfig(file), isOurs) : {};
  // A file that has nothing but the form of its kind was ours alone.
  const isEmpty = Object.keys(config).every((member) => member === "version");
  if (existsSync(file)) {
    if (isEmpty) rmSync(file);
    else writeConfig(file, config);
  }
  show(settings, { file, removed: true }, () => `${file} has no hook of bridle any more.\n`);
}

function fileFor(name: string, { user }: InstallSettings): string {
  const { files } = adapterNamed(name);
  return user === true ? join(homedir(), files.user.slice(2)) : resolve(files.project);
}

/** By full paths, and blocking when it cannot even be started: tools take any other failure for a yes. */
function hookCommand(name: string): string {
  const main = process.argv[1] ?? fileURLToPath(new URL("../main.ts", import.meta.url));
  return `${quoted(process.execPath)} ${quoted(resolve(main))} ${marker}${name} || exit 2`;
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function isOurs(command: unknown): boolean {
  return typeof command === "string" && command.includes(` ${marker}`) && command.endsWith("|| exit 2");
}

function readConfig(file: string): Record<string, unknown> {
  if (!existsSync(file)) return {};
  let config: unknown;
  try {
    config = JSON.parse(readFileSync(file, "utf8"));
  } catch {
    throw new Error(`${file} is not JSON, so nothing was changed in it. Mend it first.`);
  }
  if (isRecord(config)) return config;
  throw new Error(`${file} is not an object, so nothing was changed in it.`);
}

function writeConfig(file: string, config: Record<string, unknown>): void {
  mkdirSync(dirname(file), { recursive: true });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(config, null, 2)}\n`);
  renameSync(next, file);
}
