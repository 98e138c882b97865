/** What is to be seen of a task, from what has happened so far. The same facts give the same state. */

import type { TaskStatus } from "../../sdk/client/index.ts";
import { brief } from "./details.ts";
import type { Fact, Question, TimedFact } from "./facts.ts";

export interface Step {
  type: "step";
  key: string;
  kind: string;
  name: string;
  /** A step that was under way when the task ended was stopped. */
  state: "running" | "waiting" | "done" | "failed" | "stopped";
  begunAt: number;
  endedAt: number | null;
  /** Many steps are recorded only when they are over: they took as long as nothing else was recorded. */
  isExact: boolean;
  /** What is worth saying beside the name: why it failed, which model it was and what it used. */
  note: string;
  /** What a model has said so far. */
  stream: Stream | null;
}

interface Stream {
  attempt: number;
  isThought: boolean;
  text: string;
}

export type Entry =
  | Step
  | { type: "said"; by: string; text: string; at: number }
  /** Something else that happened, in a line. */
  | { type: "note"; isGood: boolean | null; text: string; at: number };

export interface Usage {
  modelCalls: number;
  inputTokens: number;
  outputTokens: number;
  usd: number;
  /** Whether some of the calls are not in the sum, because nobody said what the model costs. */
  isPartial: boolean;
}

/** What a task asks a person, with all that a yes would be a yes to. */
export type Pending = Question & { request: unknown };

export interface ViewState {
  taskId: string;
  agent: string | null;
  status: TaskStatus;
  submittedAt: number | null;
  endedAt: number | null;
  /** Oldest first; what is longer ago is only counted. */
  entries: readonly Entry[];
  forgotten: number;
  progress: { message: string; percent: number | null } | null;
  parked: { reason: string; until: string | null } | null;
  pending: Pending | null;
  usage: Usage;
  failure: { code: string; message: string } | null;
  receiptId: string | null;
  /** When something was last recorded. */
  lastAt: number | null;
  requests: ReadonlyMap<string, unknown>;
}

/** Far more than fits on a screen. */
const entriesMax = 400;
const streamCharsMax = 20_000;
/** Kept of one message; a terminal is no place for more. */
const saidCharsMax = 100_000;

/** Not done for anybody who watches: what an agent looks up, counts or remembers to be able to go on. */
const hiddenKinds: ReadonlySet<string> = new Set([
  "time",
  "random",
  "progress",
  "conversation",
  "ask",
  "approve",
  "spend",
]);
/** These are waited for, and not worked on. */
const waitingKinds: ReadonlySet<string> = new Set(["sleep", "spawn", "handoff", "host"]);

export function unseen(taskId: string): ViewState {
  return {
    taskId,
    agent: null,
    status: "SUBMITTED",
    submittedAt: null,
    endedAt: null,
    entries: [],
    forgotten: 0,
    progress: null,
    parked: null,
    pending: null,
    usage: { modelCalls: 0, inputTokens: 0, outputTokens: 0, usd: 0, isPartial: false },
    failure: null,
    receiptId: null,
    lastAt: null,
    requests: new Map(),
  };
}

export function withFact(state: ViewState, fact: TimedFact): ViewState {
  return { ...folded(state, fact), lastAt: fact.at };
}

function folded(state: ViewState, fact: TimedFact): ViewState {
  const { at } = fact;
  switch (fact.kind) {
    case "submitted":
      return { ...state, submittedAt: at };
    case "started":
      return { ...state, agent: fact.agent };
    case "said":
      return added(withQuestion(state, fact), {
        type: "said",
        by: fact.by,
        text: fact.text.slice(0, saidCharsMax),
        at,
      });
    case "status":
      // Whatever it waited for, it does not any more; if it asks again, that comes next.
      return { ...state, status: fact.to, pending: null, parked: null };
    case "step_begun":
      return begun(state, fact);
    case "step_ended":
      return ended(state, fact);
    case "delta":
      return streamed(state, fact);
    case "progress":
      return { ...state, progress: { message: fact.message, percent: fact.percent } };
    case "parked":
      return { ...state, parked: { reason: fact.reason, until: fact.until } };
    case "asks_permission":
      return { ...state, requests: new Map([[fact.requestId, fact.request]]) };
    case "question": {
      const { question } = fact;
      return { ...state, pending: { ...question, request: state.requests.get(question.requestId ?? "") } };
    }
    case "receipt":
      return { ...state, receiptId: fact.id };
    case "ended":
      return over(state, fact);
    default: {
      const note = noteOf(fact, state);
      return note === null ? state : added(state, { type: "note", ...note, at });
    }
  }
}

/** The question that a person answers stands before the answer: once it is answered it is no longer shown as open. */
function withQuestion(state: ViewState, { by, at }: Extract<TimedFact, { kind: "said" }>): ViewState {
  const { pending } = state;
  if (by === "agent" || pending?.kind !== "input") return state;
  return added(state, { type: "note", isGood: null, text: `asked: ${pending.prompt}`, at });
}

/** What happened beside steps and messages, in a line. */
export function noteOf(
  fact: Fact,
  { pending }: Pick<ViewState, "pending">,
): { isGood: boolean | null; text: string } | null {
  switch (fact.kind) {
    case "decided": {
      const by = fact.by === null ? "" : ` by ${fact.by}`;
      const why = fact.reason ?? "";
      // What it was about stands beside it: the question itself is no longer shown.
      const what = pending?.kind === "approval" ? `: ${pending.prompt}` : "";
      const reason = why === "" ? "" : ` (${why})`;
      return { isGood: fact.isApproved, text: `${fact.decision}${by}${what}${reason}` };
    }
    case "artifact":
      return { isGood: true, text: `made ${fact.name} (${fact.id})` };
    case "handed_off":
      return { isGood: null, text: `handed over to ${fact.to}` };
    case "over_budget":
      return { isGood: false, text: `came to the limit of ${fact.quotaId}` };
    case "retried": {
      const next = fact.retryAt === null ? "" : `; next at ${fact.retryAt.slice(11, 19)} UTC`;
      return { isGood: false, text: `${fact.name}: attempt ${fact.attempt} failed: ${fact.error}${next}` };
    }
    case "cancel_requested": {
      const by = fact.by === null ? "" : ` by ${fact.by}`;
      return { isGood: false, text: `canceled${by}${fact.reason === null ? "" : `: ${fact.reason}`}` };
    }
    default:
      return null;
  }
}

/** Whether people are shown steps of this kind. */
export function isShown(kind: string): boolean {
  return !hiddenKinds.has(kind);
}

function added(state: ViewState, entry: Entry): ViewState {
  const entries = [...state.entries, entry];
  const excess = Math.max(0, entries.length - entriesMax);
  return { ...state, entries: entries.slice(excess), forgotten: state.forgotten + excess };
}

function begun(state: ViewState, fact: Extract<TimedFact, { kind: "step_begun" }>): ViewState {
  const { step: key, stepKind: kind, name, until, at } = fact;
  // A step that goes on after a restart is told again; it began when it began.
  if (!isShown(kind) || stepIn(state, key) !== undefined) return state;
  return added(state, {
    type: "step",
    key,
    kind,
    name,
    state: waitingKinds.has(kind) ? "waiting" : "running",
    begunAt: at,
    endedAt: null,
    isExact: true,
    note: until === null ? "" : `until ${until.slice(0, 16).replace("T", " ")} UTC`,
    stream: null,
  });
}

function ended(state: ViewState, fact: Extract<TimedFact, { kind: "step_ended" }>): ViewState {
  const { step: key, stepKind: kind, name, error, at, use } = fact;
  const usage = use === null ? state.usage : plus(state.usage, use);
  if (!isShown(kind)) return { ...state, usage };
  const outcome = { state: error === null ? "done" : "failed", note: endNote(fact), stream: null } as const;
  const before = stepIn(state, key);
  if (before !== undefined) {
    const step: Step = { ...before, ...outcome, endedAt: at };
    return { ...state, usage, entries: state.entries.map((entry) => (entry === before ? step : entry)) };
  }
  const begunAt = fact.begunAt ?? state.lastAt ?? at;
  const times = { begunAt, endedAt: at, isExact: fact.begunAt !== null };
  return { ...added(state, { type: "step", key, kind, name, ...times, ...outcome }), usage };
}

function endNote({ error, use, isSimulated, details = [] }: Extract<Fact, { kind: "step_ended" }>): string {
  const parts = [
    ...(error === null ? [] : [error]),
    ...(use === null ? [] : [useWords(use)]),
    ...(isSimulated ? ["only simulated"] : []),
  ];
  return [parts.join(", "), brief(details)].filter((text) => text !== "").join("  ");
}

function useWords({ model, inputTokens, outputTokens, usd, attempts }: NonNullable<UseFact>): string {
  return [
    ...(model === null ? [] : [model]),
    `${inputTokens}+${outputTokens} tokens`,
    ...(usd === null ? [] : [money(usd)]),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
  ].join(", ");
}

type UseFact = Extract<Fact, { kind: "step_ended" }>["use"];

export function money(usd: number): string {
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}

function plus(usage: Usage, use: NonNullable<UseFact>): Usage {
  return {
    modelCalls: usage.modelCalls + 1,
    inputTokens: usage.inputTokens + use.inputTokens,
    outputTokens: usage.outputTokens + use.outputTokens,
    usd: usage.usd + (use.usd ?? 0),
    isPartial: usage.isPartial || use.usd === null,
  };
}

function streamed(state: ViewState, fact: Extract<TimedFact, { kind: "delta" }>): ViewState {
  const { attempt, isThought, text } = fact;
  const before = stepIn(state, fact.step);
  if (before === undefined || before.endedAt !== null) return state;
  const { stream } = before;
  // A later attempt starts from the beginning; what was thought gives way to what is said.
  const isSame = stream?.attempt === attempt && stream.isThought === isThought;
  const whole = (isSame ? (stream?.text ?? "") : "") + text;
  const step: Step = { ...before, stream: { attempt, isThought, text: whole.slice(-streamCharsMax) } };
  return { ...state, entries: state.entries.map((entry) => (entry === before ? step : entry)) };
}

function over(state: ViewState, fact: Extract<TimedFact, { kind: "ended" }>): ViewState {
  const { status, failure, at } = fact;
  const entries = state.entries.map((entry): Entry => {
    const isOpen = entry.type === "step" && entry.endedAt === null;
    return isOpen ? { ...entry, state: "stopped", endedAt: at, stream: null } : entry;
  });
  return { ...state, status, failure, entries, endedAt: at, progress: null, parked: null, pending: null };
}

export function stepIn({ entries }: ViewState, key: string): Step | undefined {
  return entries.findLast((entry): entry is Step => entry.type === "step" && entry.key === key);
}
