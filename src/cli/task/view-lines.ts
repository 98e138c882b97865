/** A task on a screen: the state as lines that fit, with what matters most kept when there is little room. */

import { durationText } from "../terminal/duration.ts";
import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine, widthOf, wrap } from "../terminal/text.ts";
import { pendingLines } from "./pending-lines.ts";
import { type Entry, money, type Step, type Usage, type ViewState } from "./view-state.ts";

export interface Sight {
  columns: number;
  rows: number;
  now: number;
  style: Style;
  isConnected: boolean;
  /** The last look: nothing turns any more, and what was said is shown in full. */
  isLast: boolean;
  /** A line on what can be done here. */
  hint: string | null;
}

const frameMs = 120;
/** Of one message, while there is more to come. */
const saidLinesMax = 8;
const streamLinesMax = 4;
/** Of the whole list, when there is no screen to fit into any more. */
const lastStepsMax = 20;

/** At most as many lines as there are rows, none of them wider than the screen. */
export function viewLines(state: ViewState, sight: Sight): string[] {
  const head = headLines(state, sight);
  const foot = footLines(state, sight);
  const room = sight.isLast ? Number.POSITIVE_INFINITY : sight.rows - head.length - foot.length;
  const lines = [...head, ...bodyLines(state, sight, Math.max(room, 0)), ...foot];
  // However small the screen is: what is asked, at the end, is what somebody has to see.
  return sight.isLast || lines.length <= sight.rows ? lines : lines.slice(-Math.max(sight.rows, 1));
}

function headLines(state: ViewState, { columns, now, style }: Sight): string[] {
  const { taskId, agent, status, submittedAt, endedAt } = state;
  const paint = { COMPLETED: style.good, FAILED: style.danger, CANCELED: style.danger }[String(status)];
  const asks = status === "INPUT_REQUIRED" || status === "AUTH_REQUIRED";
  const elapsed = submittedAt === null ? "" : durationText((endedAt ?? now) - submittedAt);
  const plain = [oneLine(escapeControls(agent ?? "not started"), 40), status, elapsed];
  const painted = [
    style.strong(plain[0] ?? ""),
    (paint ?? (asks ? style.warning : style.accent))(status),
    elapsed,
  ];
  const id = escapeControls(taskId);
  const gap = columns - widthOf(plain.join("  ")) - widthOf(id);
  const line = painted.join("  ");
  if (gap >= 2) return [`${line}${" ".repeat(gap)}${style.faint(id)}`, ""];
  return [fits(plain.join("  "), columns) ? line : oneLine(plain.join("  "), columns), style.faint(id), ""];
}

function bodyLines(state: ViewState, sight: Sight, room: number): string[] {
  const blocks = [...state.entries.map((entry) => entryLines(entry, sight)), ...workLines(state, sight)];
  const stepsMax = sight.isLast ? lastStepsMax : Number.POSITIVE_INFINITY;
  const kept: string[][] = [];
  let used = 0;
  let steps = 0;
  // The newest first: what does not fit any more is folded, and the fold needs a line of its own.
  for (let index = blocks.length - 1; index >= 0; index--) {
    const block = blocks[index] ?? [];
    const isMore = index > 0 || state.forgotten > 0;
    if (state.entries[index]?.type !== "said") steps += 1;
    if (used + block.length + (isMore ? 1 : 0) > room || steps > stepsMax) break;
    kept.unshift(block);
    used += block.length;
  }
  const folded = state.forgotten + blocks.length - kept.length;
  // Nothing fits: the end of the newest says more than nothing.
  const newest = kept.length === 0 && room > 1 ? (blocks.at(-1) ?? []).slice(-(room - 1)) : [];
  const hidden = folded - (newest.length > 0 ? 1 : 0);
  const fold = hidden > 0 && room > 0 ? [sight.style.faint(foldText(hidden, state))] : [];
  return [...fold, ...newest, ...kept.flat()];
}

/** All that happened, as on the last look, for those who do not watch. */
export function storyLines(state: ViewState, sight: Pick<Sight, "columns" | "now" | "style">): string[] {
  const last = { ...sight, rows: Number.POSITIVE_INFINITY, isConnected: true, isLast: true, hint: null };
  return bodyLines(state, last, last.rows);
}

/** What the agent's own code does, and many a step, is recorded when it is over: that something goes on is to be seen before. */
function workLines({ status, entries, lastAt, parked, pending }: ViewState, sight: Sight): string[][] {
  const isOpen = entries.some((entry) => entry.type === "step" && entry.endedAt === null);
  const isIdle = status !== "WORKING" || parked !== null || pending !== null;
  if (isIdle || isOpen || lastAt === null || sight.isLast) return [];
  const { style, columns, now } = sight;
  const time = durationText(now - lastAt);
  const pad = " ".repeat(Math.max(1, columns - 3 - "working".length - widthOf(time)));
  return [[`${style.accent(frameOf(sight))} ${style.faint(`working${pad}${time}`)}`]];
}

function frameOf({ now, style: { marks } }: Sight): string {
  return marks.frames[Math.floor(now / frameMs) % marks.frames.length] ?? "";
}

function foldText(hidden: number, { entries }: ViewState): string {
  const isSteps = entries.slice(0, hidden).every(({ type }) => type === "step");
  const what = isSteps ? "step" : "step or message";
  return `  … ${hidden} earlier ${hidden === 1 ? what : isSteps ? "steps" : "steps and messages"}`;
}

function entryLines(entry: Entry, sight: Sight): string[] {
  const { style, columns } = sight;
  if (entry.type === "step") return stepLines(entry, sight);
  if (entry.type === "note") {
    const { isGood } = entry;
    const mark = isGood === null ? style.marks.notes : isGood ? style.marks.done : style.marks.failed;
    const paint = isGood === null ? style.faint : isGood ? style.good : style.danger;
    return [`${paint(mark)} ${oneLine(escapeControls(entry.text), columns - 3)}`];
  }
  const isAgent = entry.by === "agent";
  const lines = wrap(entry.text, columns - 3);
  const most = sight.isLast && isAgent ? lines.length : saidLinesMax;
  const shown = lines.slice(0, most);
  const mark = isAgent ? style.accent(style.marks.says) : style.faint(">");
  return [
    ...shown.map((line, index) => `${index === 0 ? mark : " "} ${isAgent ? line : style.faint(line)}`),
    ...(lines.length > most ? [style.faint(`  … ${lines.length - most} more lines`)] : []),
  ];
}

function stepLines(step: Step, sight: Sight): string[] {
  const { columns, now, style, isLast } = sight;
  const { marks } = style;
  const [mark, paint] = {
    running: [isLast ? marks.waits : frameOf(sight), style.accent],
    waiting: [marks.waits, style.warning],
    done: [marks.done, style.good],
    failed: [marks.failed, style.danger],
    stopped: [marks.failed, style.faint],
  }[step.state] as [string, (text: string) => string];
  const time = stepTime(step, now);
  const room = columns - 3 - widthOf(time) - 2;
  const title = oneLine(escapeControls(stepTitle(step)), room);
  const left = room - widthOf(title) - 2;
  const note = step.note === "" || left < 6 ? "" : oneLine(escapeControls(step.note), left);
  const pad = " ".repeat(Math.max(0, room - widthOf(title) - (note === "" ? 0 : widthOf(note) + 2) + 2));
  const faintNote =
    note === "" ? "" : `  ${step.state === "failed" ? style.danger(note) : style.faint(note)}`;
  const first = `${paint(mark)} ${title}${faintNote}${pad}${style.faint(time)}`;
  return [first, ...streamLines(step, columns, style)];
}

/** What a step is called beside its name, where that says more. */
const kindNames: Readonly<Record<string, string>> = {
  llm: "model",
  tool: "tool",
  mcp: "tool",
  effect: "effect",
  sleep: "sleep",
  spawn: "task",
  handoff: "remote agent",
  host: "host",
  secret: "secret",
  file: "write",
  file_read: "read",
  file_list: "list",
  memory: "memory",
  checkpoint: "checkpoint",
};

export function stepTitle({ kind, name }: Pick<Step, "kind" | "name">): string {
  const word = kindNames[kind];
  return word === undefined || word === name ? name : `${word} ${name}`;
}

/** `~` where the log has the end only. */
export function stepTime({ begunAt, endedAt, isExact }: Step, now: number): string {
  return `${isExact ? "" : "~"}${durationText((endedAt ?? now) - begunAt)}`;
}

function streamLines({ stream }: Step, columns: number, { faint }: Style): string[] {
  if (stream === null) return [];
  const lines = wrap(stream.text, columns - 5).filter((line) => line !== "");
  const shown = lines.slice(-streamLinesMax);
  return shown.map((line) => `    ${stream.isThought ? faint(line) : line}`);
}

function footLines(state: ViewState, sight: Sight): string[] {
  const { style, columns, isConnected, hint, isLast } = sight;
  const { failure, parked, pending, receiptId } = state;
  const isEnded = state.endedAt !== null;
  const says = (text: string, paint: (line: string) => string) =>
    wrap(text, columns - 3).map((line) => `  ${paint(line)}`);
  const lines = [
    ...(isEnded || pending !== null ? [] : progressLines(state, sight)),
    ...usageLines(state.usage, sight),
    ...(failure === null ? [] : says(`${failure.code}: ${failure.message}`, style.danger)),
    ...(parked === null || isEnded ? [] : says(waits(parked), style.warning)),
    ...(isEnded && receiptId !== null && isLast ? says(`receipt ${receiptId}`, style.faint) : []),
    ...(pending === null ? [] : ["", ...pendingLines(pending, state.taskId, sight)]),
    ...(isConnected || isEnded ? [] : says("The server does not answer; reconnecting …", style.warning)),
    ...(hint === null || isLast ? [] : says(hint, style.faint).slice(0, 1)),
  ];
  return lines.length === 0 || lines[0] === "" ? lines : ["", ...lines];
}

function waits({ reason, until }: NonNullable<ViewState["parked"]>): string {
  return until === null ? reason : `${reason}, until ${until.slice(0, 19).replace("T", " ")} UTC`;
}

const barColumns = 20;

function progressLines({ progress }: ViewState, { columns, style }: Sight): string[] {
  if (progress === null) return [];
  const { message, percent } = progress;
  if (percent === null) return [`  ${oneLine(escapeControls(message), columns - 3)}`];
  const share = Math.min(100, Math.max(0, percent));
  const full = Math.round((share / 100) * barColumns);
  const { marks } = style;
  const bar = `${style.accent(marks.full.repeat(full))}${style.faint(marks.empty.repeat(barColumns - full))}`;
  const text = oneLine(escapeControls(message), columns - barColumns - 11);
  return [`  ${bar} ${String(Math.round(share)).padStart(3)} %  ${text}`];
}

export function usageText({ modelCalls, inputTokens, outputTokens, usd, isPartial }: Usage): string {
  const calls = `${modelCalls} model ${modelCalls === 1 ? "call" : "calls"}`;
  const tokens = `${inputTokens.toLocaleString("en")} + ${outputTokens.toLocaleString("en")} tokens`;
  const cost = usd === 0 && isPartial ? "" : `, ${isPartial ? "at least " : ""}${money(usd)}`;
  return `${calls}, ${tokens}${cost}`;
}

function usageLines(usage: Usage, { columns, style }: Sight): string[] {
  return usage.modelCalls === 0 ? [] : [`  ${style.faint(oneLine(usageText(usage), columns - 3))}`];
}

function fits(text: string, columns: number): boolean {
  return widthOf(text) <= columns;
}
