/** What happened in a task as lines with times: one for each fact, for people, pipes and log files. */

import { durationText, momentText } from "../terminal/duration.ts";
import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";
import { detailText } from "./details.ts";
import type { TimedFact } from "./facts.ts";
import { stepTime, stepTitle, usageText } from "./view-lines.ts";
import { isShown, noteOf, stepIn, type ViewState } from "./view-state.ts";

const wordColumns = 9;

/** How much of what steps were given and gave is below their lines: nothing, its beginning, or all of it. */
export type Verbosity = "brief" | "verbose" | "full";

/** Null for what is no line of its own. The state is the one that has the fact in it already. */
export function logLine(
  fact: TimedFact,
  state: ViewState,
  style: Style,
  verbosity: Verbosity = "brief",
): string | null {
  const details = verbosity === "brief" || !("details" in fact) ? [] : (fact.details ?? []);
  const said = wordsOf(fact, state) ?? (details.length > 0 ? beginning(fact) : null);
  if (said === null) return null;
  const [word, text, kind] = said;
  const paint = kind === undefined ? (same: string) => same : style[kind];
  const time = `${new Date(fact.at).toISOString().slice(0, 19)}Z`;
  // What was said keeps its lines, which stay behind the time and the word.
  const margin = " ".repeat(time.length + 2 + wordColumns + 1);
  const below = details.map((detail) => detailText(detail, verbosity === "full"));
  const lines = escapeControls([text, ...below].join("\n")).split("\n");
  return `${style.faint(time)}  ${paint(oneLine(word).padEnd(wordColumns))} ${lines.join(`\n${margin}`)}\n`;
}

/** Only told where it is told what a step was given. */
function beginning(fact: TimedFact): Words | null {
  return fact.kind === "step_begun" && isShown(fact.stepKind)
    ? ["begins", oneLine(fact.name), "faint"]
    : null;
}

type Words = [word: string, text: string, kind?: "good" | "warning" | "danger" | "accent" | "faint"];

export function wordsOf(fact: TimedFact, state: ViewState): Words | null {
  switch (fact.kind) {
    case "submitted":
      return ["submitted", `${state.taskId}${fact.isReplay ? ", a replay" : ""}`];
    case "started":
      return ["started", `by ${fact.agent}`];
    case "said":
      return [fact.by === "agent" ? "says" : fact.by, fact.text, "accent"];
    case "step_begun": {
      // The end of a step has all of it; only what may take long is told before.
      const step = stepIn(state, fact.step);
      return step?.state === "waiting" ? ["waits", sentence(stepTitle(step), step.note), "warning"] : null;
    }
    case "step_ended":
      return isShown(fact.stepKind) ? stepWords(fact, state) : null;
    case "progress":
      return ["progress", `${fact.message}${fact.percent === null ? "" : ` (${fact.percent} %)`}`, "faint"];
    case "parked":
      return ["waits", sentence(fact.reason, fact.until === null ? "" : `until ${momentText(fact.until)}`)];
    case "question":
      return questionWords(fact.question, state.taskId);
    case "receipt":
      return ["receipt", fact.id, "faint"];
    case "ended":
      return endWords(fact, state);
    default: {
      const note = noteOf(fact, state);
      if (note === null) return null;
      const word = noteWords[fact.kind] ?? "note";
      return [word, oneLine(note.text), note.isGood === false ? "danger" : "good"];
    }
  }
}

const noteWords: Partial<Record<TimedFact["kind"], string>> = {
  artifact: "file",
  decided: "decision",
  retried: "retry",
};

function stepWords(fact: Extract<TimedFact, { kind: "step_ended" }>, state: ViewState): Words {
  const step = stepIn(state, fact.step);
  const word = fact.stepKind === "llm" ? "model" : ["tool", "mcp"].includes(fact.stepKind) ? "tool" : "step";
  const name = word === "step" && step !== undefined ? stepTitle(step) : fact.name;
  const time = step === undefined ? "" : `, ${stepTime(step, fact.at)}`;
  const text = oneLine(`${name}: ${fact.error === null ? "done" : "failed"}${time}`);
  const note = step?.note ?? "";
  return [word, sentence(text, oneLine(note)), fact.error === null ? "good" : "danger"];
}

function questionWords(
  { kind, prompt, until, requestId }: Extract<TimedFact, { kind: "question" }>["question"],
  taskId: string,
): Words {
  const latest = until === null ? "" : `, until ${momentText(until)}`;
  return kind === "input"
    ? ["asks", `${prompt}\n(bridle task answer ${taskId} …${latest})`, "warning"]
    : ["approve?", `${prompt}\n(bridle approve ${requestId ?? taskId}${latest})`, "warning"];
}

function endWords(fact: Extract<TimedFact, { kind: "ended" }>, state: ViewState): Words {
  const { status, failure, reason, summary, at } = fact;
  const took = state.submittedAt === null ? "" : ` after ${durationText(at - state.submittedAt)}`;
  const used = state.usage.modelCalls === 0 ? "" : `, ${usageText(state.usage)}`;
  const why = failure === null ? (reason ?? summary) : `${failure.code}: ${failure.message}`;
  const text = `${why.replace(/\.$/, "")}${took}${used}`;
  return [status.toLowerCase(), text, status === "COMPLETED" ? "good" : "danger"];
}

function sentence(text: string, more: string): string {
  return more === "" ? text : `${text}, ${more}`;
}
