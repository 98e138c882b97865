/**
 * Standing permissions: what an approver signed to be done more than once, for a while. It covers exactly the words that a
 * command begins with, or the files below a path, on one machine, for one user.
 */

import { hostname, userInfo } from "node:os";
import { resolve } from "node:path";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { type GateSubject, placeOf } from "./decide.ts";
import { invocationsOf, invocationsOfArgv, runsOthers } from "./invocations.ts";
import { matchesPath, realPathOf } from "./paths.ts";

const limits = {
  kind: Type.Literal("standing"),
  /** Where the command runs. */
  cwd: Type.String(),
  host: Type.String(),
  user: Type.String(),
  uses: Type.Integer({ minimum: 1 }),
  until: Type.String(),
  nonce: Type.String(),
};
const closed = { additionalProperties: false };
const Standing = Type.Union([
  Type.Object({ ...limits, argv: Type.Array(Type.String()) }, closed),
  Type.Object({ ...limits, path: Type.String() }, closed),
]);

export type StandingRequest = Static<typeof Standing>;

/** Null for what is no such request. It has these members and no others: the digest that was signed is over all of them. */
export function readStanding(value: unknown): StandingRequest | null {
  return Value.Check(Standing, value) ? value : null;
}

export function covers(standing: StandingRequest, subject: GateSubject, cwd: string, nowMs: number): boolean {
  if (standing.host !== hostname() || standing.user !== userInfo().username) return false;
  if (!(nowMs < Date.parse(standing.until))) return false;
  if ("argv" in standing) return coversCommand(standing.argv, standing.cwd, subject, cwd);
  return coversPaths(standing.path, subject, cwd);
}

/** One plain command: no variables, no redirections, nothing else on the line. */
function coversCommand(prefix: readonly string[], place: string, subject: GateSubject, cwd: string): boolean {
  const { line, argv } = subject;
  if (prefix.length === 0 || realPathOf(place) !== realPathOf(placeOf(subject, cwd))) return false;
  if (line === undefined && argv === undefined) return false;
  const { all, isReadable } =
    line === undefined ? invocationsOfArgv(argv ?? [], { home: "" }) : invocationsOf(line, { home: "" });
  const [only, ...others] = all;
  if (!isReadable || only === undefined || others.length > 0 || !only.isPlain || only.isImplied) return false;
  const isWhole = runsOthers(prefix[0] ?? "");
  if (only.words.includes(null) || (isWhole && only.words.length !== prefix.length)) return false;
  return prefix.every((word, index) => only.words[index] === word);
}

function coversPaths(pattern: string, { kind, line, argv, paths = [] }: GateSubject, cwd: string): boolean {
  if (kind !== "edit" || line !== undefined || argv !== undefined || paths.length === 0) return false;
  return paths.every((path) => {
    // Some tools take it for the home directory.
    if (path.startsWith("~")) return false;
    const absolute = resolve(cwd, path);
    return [absolute, realPathOf(absolute)].every((form) => matchesPath(pattern, form, false));
  });
}
