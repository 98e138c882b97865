/** `bridle gate check`, `trust` and `schema`: what a policy says, and why, without doing anything. */

import { homedir } from "node:os";
import { resolve } from "node:path";
import { decideGate, type Finding, type GateSubject } from "../../gate/decide.ts";
import { GatePolicy } from "../../gate/policy.ts";
import {
  type LoadedPolicy,
  loadPolicy,
  policyName,
  projectPolicy,
  trustPolicy,
} from "../../gate/policy-files.ts";
import { type JsonSettings, show } from "../terminal/output.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";

export interface CheckSettings {
  policy?: string;
  tool?: string;
  line?: string;
  path?: string[];
  host?: string[];
  json?: true;
}

export function check(words: readonly string[], settings: CheckSettings): void {
  const cwd = process.cwd();
  const loaded = loadPolicy(cwd, settings.policy);
  const subject = subjectOf(words, settings);
  if (subject === null) {
    process.stdout.write(
      settings.json === true ? `${escapedJson(summaryOf(loaded), 2)}\n` : filesText(loaded),
    );
    return;
  }
  const verdict = decideGate(loaded.policy, subject, { cwd, home: homedir() });
  const { action, risk, findings } = verdict;
  if (settings.json === true) {
    process.stdout.write(`${escapedJson({ action, risk, findings, ...summaryOf(loaded) }, 2)}\n`);
    return;
  }
  const lines = findings.map((finding) => `  ${lineOf(finding)}\n`).join("");
  process.stdout.write(`${action}  (risk ${risk})\n${lines}${filesText(loaded)}`);
}

function subjectOf(
  words: readonly string[],
  { tool, line, path = [], host = [] }: CheckSettings,
): GateSubject | null {
  const kind =
    line !== undefined || words.length > 0
      ? "shell"
      : path.length > 0
        ? "edit"
        : host.length > 0
          ? "fetch"
          : "other";
  const named = { tool: tool ?? kind, kind, paths: path, urls: host.map((name) => `https://${name}`) };
  if (line !== undefined) return { ...named, line };
  if (words.length > 0) return { ...named, argv: words };
  return tool === undefined && path.length === 0 && host.length === 0 ? null : named;
}

function lineOf({ action, what, why, rule }: Finding): string {
  return oneLine(`${action.padEnd(5)}  ${what}: ${rule === null ? why : why}`);
}

function summaryOf({ files, policy }: LoadedPolicy): object {
  return { files, default: policy.default, rules: policy.rules.length };
}

function filesText({ files, policy }: LoadedPolicy): string {
  if (files.length === 0) return `No ${policyName} from here upwards, so everything is ${policy.default}.\n`;
  return files
    .map(({ path, isTrusted }) =>
      oneLine(
        isTrusted
          ? `Policy: ${path}`
          : `Policy: ${path}, not trusted as it is now, so it allows nothing: bridle gate trust`,
      ),
    )
    .map((line) => `${line}\n`)
    .join("");
}

export function trust(file: string | undefined, settings: JsonSettings): void {
  const path = file === undefined ? projectPolicy(process.cwd()) : resolve(file);
  if (path === null) throw new Error(`there is no ${policyName} from here upwards.`);
  const trusted = trustPolicy(path);
  show(settings, trusted, () => `${oneLine(path)} may allow what it says, until it changes.\n`);
}

export function schema(): void {
  process.stdout.write(`${JSON.stringify(GatePolicy, null, 2)}\n`);
}
