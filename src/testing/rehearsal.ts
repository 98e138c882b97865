/** What came of a rehearsal: how the run ended, all that it did on the way, and assertions that show it when they fail. */

import { AssertionError } from "node:assert";
import { writeFile } from "node:fs/promises";
import type { Failure } from "../kernel/kinds/outcome.ts";
import type { TaskStatus } from "../kernel/tasks/lifecycle.ts";
import type { Receipt } from "../receipts/schema.ts";
import type { JsonValue } from "../store/port.ts";
import { type JournalStep, showJournal } from "./journal.ts";
import type { ApprovalAsked, Question } from "./people.ts";
import type { Waiting } from "./play.ts";
import type { ScriptedCall } from "./scripted.ts";

export interface RehearsedArtifact {
  name: string;
  kind: string;
  mimeType: string;
  /** The content as UTF-8. */
  text: string;
  bytes: Uint8Array;
}

export interface RehearsalFacts {
  status: TaskStatus;
  /** What the agent returned; null when it returned nothing, or did not come so far. */
  output: JsonValue;
  failure: Failure | null;
  /** Set when the run waits for what nobody in the rehearsal gives. */
  waitingFor: Waiting | null;
  journal: readonly JournalStep[];
  /** The texts of `ctx.say`, in order. */
  said: readonly string[];
  /** The questions, with the answers that they got. */
  asked: readonly (Question & { answer?: JsonValue })[];
  approvals: readonly (ApprovalAsked & { approved?: boolean; reason?: string })[];
  artifacts: readonly RehearsedArtifact[];
  /** The files of the workspace in the end, by path. */
  files: Readonly<Record<string, string>>;
  /** What the models were asked. */
  models: readonly ScriptedCall[];
  /** Signed, with a key that lives as long as the rehearsal. Null while the run has not ended. */
  receipt: Receipt | null;
  /** What time it was in the end. */
  endedAt: Date;
}

/** The log as a file that stands alone, made when it is asked for. */
export type LogText = () => Promise<string>;

/** Any number of steps, in a list of patterns. */
const anySteps = "...";

export class Rehearsal implements RehearsalFacts {
  readonly status: TaskStatus;
  readonly output: JsonValue;
  readonly failure: Failure | null;
  readonly waitingFor: Waiting | null;
  readonly journal: readonly JournalStep[];
  readonly said: readonly string[];
  readonly asked: RehearsalFacts["asked"];
  readonly approvals: RehearsalFacts["approvals"];
  readonly artifacts: readonly RehearsedArtifact[];
  readonly files: Readonly<Record<string, string>>;
  readonly models: readonly ScriptedCall[];
  readonly receipt: Receipt | null;
  readonly endedAt: Date;
  readonly #log: LogText;

  constructor(facts: RehearsalFacts, log: LogText) {
    this.status = facts.status;
    this.output = facts.output;
    this.failure = facts.failure;
    this.waitingFor = facts.waitingFor;
    this.journal = facts.journal;
    this.said = facts.said;
    this.asked = facts.asked;
    this.approvals = facts.approvals;
    this.artifacts = facts.artifacts;
    this.files = facts.files;
    this.models = facts.models;
    this.receipt = facts.receipt;
    this.endedAt = facts.endedAt;
    this.#log = log;
  }

  /** The step of this key. */
  step(key: string): JournalStep {
    const found = this.journal.find((step) => step.key === key);
    if (found === undefined) this.#fail(`There is no step ${key}.`, this.step);
    return found;
  }

  /**
   * All steps, in order: keys, in which `*` stands for anything, or regular expressions. `"..."` in the list stands for any
   * number of steps.
   */
  expectSteps(patterns: readonly (string | RegExp)[]): void {
    const keys = this.journal.map(({ key }) => key);
    if (fits(keys, patterns)) return;
    const expected = patterns.map((pattern) => `  ${pattern}`).join("\n");
    this.#fail(`The steps are not the expected ones. Expected:\n${expected}\nFound:`, this.expectSteps);
  }

  /** Writes the run to a file that `replayFixture` takes. */
  async save(file: string | URL): Promise<void> {
    await writeFile(file, await this.#log());
  }

  /** How it ended, and its journal. */
  toString(): string {
    return `${endingOf(this)}\n${showJournal(this.journal)}`;
  }

  #fail(problem: string, from: (...args: never[]) => unknown): never {
    throw new AssertionError({ message: `${problem}\n${this}`, stackStartFn: from });
  }
}

/** A line that says how a run ended. */
export function endingOf({ status, output, failure, waitingFor }: RehearsalFacts): string {
  if (waitingFor !== null) return `${status}: waits for ${waitingFor.kind} to "${waitingFor.what}"`;
  if (failure !== null) return `${status} ${failure.code}: ${failure.message}`;
  return `${status} ${JSON.stringify(output)}`;
}

function fits(keys: readonly string[], patterns: readonly (string | RegExp)[]): boolean {
  const [pattern, ...rest] = patterns;
  if (pattern === undefined) return keys.length === 0;
  if (pattern === anySteps) return keys.some((_, n) => fits(keys.slice(n), rest)) || fits([], rest);
  const [key, ...others] = keys;
  return key !== undefined && isLike(key, pattern) && fits(others, rest);
}

function isLike(key: string, pattern: string | RegExp): boolean {
  if (typeof pattern !== "string") return new RegExp(pattern).test(key);
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return key === pattern;
  const last = rest.pop() ?? "";
  if (!key.startsWith(first) || !key.slice(first.length).endsWith(last)) return false;
  // What is between the stars comes in its order, each as early as it can.
  let at = first.length;
  for (const piece of rest) {
    const found = key.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= key.length - last.length;
}
