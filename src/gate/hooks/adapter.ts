/** A coding tool's hook: what it says before it does something, and how it is told yes or no. One small file for each tool. */

import type { GateSubject } from "../decide.ts";

/** What a tool is about to do. */
export interface HookUse {
  subject: GateSubject;
  /** All that the tool said about it, for the approver. */
  details: unknown;
  /** Null where it does not say. */
  cwd: string | null;
  /** The tool's own session. */
  session: string | null;
}

export interface HookAnswer {
  stdout: string;
  stderr: string;
  exitCode: number;
}

export interface HookAdapter {
  name: string;
  /** Which documented contract it follows, for people who look for a change in it. */
  contract: string;
  /** Throws for what is not in the form of the contract. */
  read(input: Record<string, unknown>): HookUse;
  /** The reason is for the person and the model. `input` is null where it could not be read. */
  answer(verdict: { isAllowed: boolean; reason: string }, input: Record<string, unknown> | null): HookAnswer;
  /** Where its hooks are configured: of a project, and of a person. */
  files: { project: string; user: string };
  /** Its configuration with the hook, and without any of ours. */
  withHook(config: Record<string, unknown>, command: string): Record<string, unknown>;
  without(config: Record<string, unknown>, isOurs: (command: unknown) => boolean): Record<string, unknown>;
}

/** How long a tool waits for the hook, and the hook for an approver: the hook always gives up first, and says no. */
export const hookSeconds = 600;
export const hookWaitSeconds = 570;

/** Nothing was said, which no tool takes for a yes: with this exit code they all block. */
export const blocked = (reason: string): HookAnswer => ({ stdout: "", stderr: `${reason}\n`, exitCode: 2 });
export const silent: HookAnswer = { stdout: "", stderr: "", exitCode: 0 };
export const said = (answer: object): HookAnswer => ({
  stdout: `${JSON.stringify(answer)}\n`,
  stderr: "",
  exitCode: 0,
});

export class UnknownHookInput extends Error {
  override name = "UnknownHookInput";
}

export function textIn(input: Record<string, unknown>, name: string): string {
  const value = input[name];
  if (typeof value === "string" && value !== "") return value;
  throw new UnknownHookInput(`The hook's input has no ${name}.`);
}

export function optionalText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function objectIn(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The lists of a configuration, each without our entries, which are found by the command in them. */
export function withoutOurs(
  lists: Record<string, unknown>,
  isOurs: (command: unknown) => boolean,
): Record<string, unknown> {
  const mentionsOurs = (value: unknown): boolean =>
    isOurs(value) || (typeof value === "object" && value !== null && Object.values(value).some(mentionsOurs));
  const kept = Object.entries(lists).map(([event, entries]) => [
    event,
    Array.isArray(entries) ? entries.filter((entry) => !mentionsOurs(entry)) : entries,
  ]);
  return Object.fromEntries(kept.filter(([, entries]) => !Array.isArray(entries) || entries.length > 0));
}

/** A configuration of the form `{ hooks: { EVENT: [entry] } }`. */
export function withEntries(
  config: Record<string, unknown>,
  entries: Record<string, object>,
): Record<string, unknown> {
  const hooks = objectIn(config.hooks);
  const added = Object.entries(entries).map(([event, entry]) => {
    const before = hooks[event];
    return [event, [...(Array.isArray(before) ? before : []), entry]];
  });
  return { ...config, hooks: { ...hooks, ...Object.fromEntries(added) } };
}

export function withoutEntries(
  config: Record<string, unknown>,
  isOurs: (command: unknown) => boolean,
): Record<string, unknown> {
  const { hooks, ...others } = config;
  const kept = withoutOurs(objectIn(hooks), isOurs);
  return Object.keys(kept).length === 0 ? others : { ...others, hooks: kept };
}
