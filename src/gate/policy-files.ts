/**
 * Which policies are in effect: the person's own and the project's, both. A tool that is guarded may be able to write into the
 * project, so a policy allows something only in the form in which its owner trusted it; until then it can ask and deny.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { combined, type GateRule, type Policy, PolicyError, readPolicy } from "./policy.ts";

export const policyName = "bridle.gate.yaml";

export interface PolicyFile {
  path: string;
  sha256: string;
  isTrusted: boolean;
}

export interface LoadedPolicy {
  policy: Policy;
  files: PolicyFile[];
}

/** Where a person's settings are, which no guarded tool changes unasked. */
function gateDirectory(): string {
  const { XDG_CONFIG_HOME: config = "" } = process.env;
  return join(isAbsolute(config) ? config : join(homedir(), ".config"), "bridle");
}

/** Throws `PolicyError` for one that cannot be read: then nothing is allowed. */
export function loadPolicy(cwd: string, given?: string): LoadedPolicy {
  const paths = given === undefined ? [ownPolicy(), projectPolicy(cwd)] : [resolve(cwd, given)];
  const trusted = readTrust();
  const loaded = paths
    .filter((path) => path !== null)
    .map((path) => {
      const source = read(path);
      const sha256 = createHash("sha256").update(source).digest("hex");
      const policy = readPolicy(source, { file: path, root: dirname(path) });
      const isTrusted = trusted[path] === sha256;
      return { file: { path, sha256, isTrusted }, policy: isTrusted ? policy : withoutAllowing(policy) };
    });
  const policy = combined(loaded.map((each) => each.policy));
  return {
    policy: { ...policy, rules: [...policy.rules, ...builtIn()] },
    files: loaded.map(({ file }) => file),
  };
}

/** From now on the policy may allow, as long as it stays as it is. */
export function trustPolicy(path: string): PolicyFile {
  const source = read(path);
  readPolicy(source, { file: path, root: dirname(path) });
  const sha256 = createHash("sha256").update(source).digest("hex");
  const file = trustFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify({ ...readTrust(), [path]: sha256 }, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
  return { path, sha256, isTrusted: true };
}

function ownPolicy(): string | null {
  const path = join(gateDirectory(), "gate.yaml");
  return existsSync(path) ? path : null;
}

/** The nearest one, upwards. */
export function projectPolicy(cwd: string): string | null {
  for (let place = resolve(cwd); ; place = dirname(place)) {
    const path = join(place, policyName);
    if (existsSync(path)) return path;
    if (dirname(place) === place) return null;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new PolicyError(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function trustFile(): string {
  return join(gateDirectory(), "gate-trusted.json");
}

/** A list that cannot be read trusts nothing. */
function readTrust(): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(readFileSync(trustFile(), "utf8"));
    return typeof found === "object" && found !== null && !Array.isArray(found) ? { ...found } : {};
  } catch {
    return {};
  }
}

function withoutAllowing({ rules, default: fallback }: Policy): Policy {
  const stricter = (rule: GateRule): GateRule =>
    // A rule that asks matches more than one that allows; it is no more than the default here.
    rule.action === "allow"
      ? { ...rule, action: "ask", name: `${rule.name} (policy not trusted)`, isKnownOnly: true }
      : rule;
  return { rules: rules.map(stricter), default: fallback === "allow" ? "ask" : fallback };
}

/** Nobody lets themselves through: what decides about tools is not changed by them unasked, whatever a policy says. */
function builtIn(): GateRule[] {
  const rule = { action: "ask", risk: "high", root: "/", isKnownOnly: true } as const;
  return [
    {
      ...rule,
      name: "the gate itself",
      match: {
        argv: [
          ...["trust", "install", "uninstall"].map((word) => ["bridle", "gate", word]),
          ["bridle", "approver"],
          ["bridle", "pair"],
          ["bridle", "approvers"],
        ],
      },
    },
    {
      ...rule,
      name: "the gate's own files",
      match: {
        tool: ["shell", "edit", "mcp", "other"],
        paths: [
          ...[`${gateDirectory()}/**`, policyName, ".claude/settings.json", ".claude/settings.local.json"],
          ...[
            ".cursor/hooks.json",
            ".gemini/settings.json",
            ".windsurf/hooks.json",
            ".codeium/windsurf/hooks.json",
          ],
          ".github/hooks/**",
        ],
      },
    },
  ];
}
