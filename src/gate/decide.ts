/** What a policy says about something that a tool or a person is about to do, and why. The strictest rule that matches decides. */

import { resolve } from "node:path";
import { hostOf } from "./hosts.ts";
import { type Invocation, type Invocations, invocationsOf, invocationsOfArgv } from "./invocations.ts";
import { ruleMatches, type Subject } from "./match.ts";
import {
  type GateAction,
  type GateRisk,
  type GateRule,
  gateRisks,
  type Policy,
  strictest,
} from "./policy.ts";

/** As a tool says it. */
export interface GateSubject {
  /** The tool's own name. */
  tool: string;
  /** What kind of tool that is: shell, read, edit, fetch, mcp, other. */
  kind: string;
  argv?: readonly string[];
  /** A line for a shell. */
  line?: string;
  /** Where the line runs, if not where the tool works. */
  runsIn?: string;
  paths?: readonly string[];
  urls?: readonly string[];
  /** Texts that may name a file, for rules that ask or deny. */
  mentioned?: readonly string[];
  risk?: GateRisk;
}

export interface Finding {
  action: GateAction;
  /** Null where no rule matched and the default applies. */
  rule: string | null;
  /** What it is about: a command of the line, or the tool. */
  what: string;
  why: string;
}

export interface GateVerdict {
  action: GateAction;
  risk: GateRisk;
  /** The one that decided. */
  finding: Finding;
  findings: Finding[];
}

export interface Surroundings {
  cwd: string;
  home: string;
}

const riskDefault: GateRisk = "medium";

/** `cwd` is where the tool works. */
export function decideGate(policy: Policy, subject: GateSubject, { cwd, home }: Surroundings): GateVerdict {
  const risk = subject.risk ?? riskDefault;
  const { all, isReadable } = invocationsIn(subject, home);
  const movesAway = subject.line !== undefined && all.some(isMove);
  const parts: Subject[] = (all.length === 0 ? [null] : all).map((invocation) => ({
    ...{ tool: subject.tool, kind: subject.kind, invocation, risk },
    paths: subject.paths ?? [],
    mentioned: subject.mentioned ?? [],
    hosts: (subject.urls ?? []).map((url) => hostOf(url) ?? url),
    cwd: movesAway ? null : placeOf(subject, cwd),
  }));
  const judged = parts.map((part) => judge(policy, part));
  const findings = [
    ...judged.flatMap(({ finding }) => finding ?? []),
    ...(isReadable ? [] : [unreadable(policy)]),
  ];
  const action = strictest(findings.map((finding) => finding.action)) ?? "deny";
  const finding = findings.find((each) => each.action === action) ?? unreadable(policy);
  return { action, finding, findings, risk: highest([risk, ...judged.flatMap((each) => each.risks)]) };
}

export function placeOf({ runsIn = "." }: GateSubject, cwd: string): string {
  return resolve(cwd, runsIn);
}

function invocationsIn({ argv, line }: GateSubject, home: string): Invocations {
  if (line !== undefined) return invocationsOf(line, { home });
  return argv === undefined ? { all: [], isReadable: true } : invocationsOfArgv(argv, { home });
}

function isMove({ words: [program] }: Invocation): boolean {
  return program === null || ["cd", "pushd", "popd", "chdir"].includes(program ?? "");
}

function judge(
  { rules, default: fallback }: Policy,
  part: Subject,
): { finding: Finding[]; risks: GateRisk[] } {
  const matching = rules.filter((rule) => ruleMatches(rule, part));
  const action = strictest(matching.map((rule) => rule.action));
  const what = part.invocation === null ? part.tool : shown(part.invocation);
  if (action === undefined) {
    if (part.invocation?.isImplied === true) return { finding: [], risks: [] };
    return {
      finding: [{ action: fallback, rule: null, what, why: "no rule matches, so the default applies" }],
      risks: [],
    };
  }
  const decisive = matching.filter((rule) => rule.action === action);
  const finding = { action, rule: decisive[0]?.name ?? null, what, why: reason(part, decisive) };
  return { finding: [finding], risks: decisive.flatMap(({ risk }) => risk ?? []) };
}

function reason({ invocation }: Subject, rules: readonly GateRule[]): string {
  const named = rules.map(({ name }) => JSON.stringify(name)).join(", ");
  const isUnsure = invocation?.words.includes(null) === true;
  const unsure = isUnsure ? "; a word is only known when it runs, and may be meant: write it out" : "";
  return `${named} matches${unsure}`;
}

function unreadable({ default: fallback, rules }: Policy): Finding {
  const denies =
    rules.some(({ action, match }) => action === "deny" && match.argv !== undefined) || fallback === "deny";
  return {
    action: denies ? "deny" : "ask",
    rule: null,
    what: "the line",
    why: "it cannot be read before it runs, so nothing allows it: write it more plainly",
  };
}

function highest(risks: readonly GateRisk[]): GateRisk {
  return gateRisks.findLast((risk) => risks.includes(risk)) ?? riskDefault;
}

/** A word that is not known yet is shown as a question mark. */
function shown({ words, redirects }: Invocation): string {
  const texts = words.map((word) =>
    word === null ? "?" : /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word),
  );
  return [...texts, ...redirects.map((target) => `<> ${target ?? "?"}`)].join(" ");
}
