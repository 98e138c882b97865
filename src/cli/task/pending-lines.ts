/** What a task asks a person: the question or, for an approval, exactly what a yes would be a yes to, and the command that helps. */

import { isRecord } from "../../sdk/client/errors.ts";
import { momentText } from "../terminal/duration.ts";
import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine, wrap } from "../terminal/text.ts";
import { answerForm } from "./answer.ts";
import type { Pending } from "./view-state.ts";

export interface Room {
  columns: number;
  rows: number;
  style: Style;
  /** All of it, however long. */
  isLast: boolean;
}

/** Lines of the payload that are always shown, however small the screen is. */
const payloadLinesMin = 3;
/** Everything else on the screen, about: head, a few steps, the question around the payload. */
const otherRows = 12;

export function pendingLines(pending: Pending, taskId: string, room: Room): string[] {
  if (pending.kind === "input") return inputLines(pending, taskId, room);
  const helps = escapeControls(`bridle approve ${pending.requestId ?? taskId}   (or: bridle deny …)`);
  return [...approvalLines(pending, room), `  ${room.style.faint(oneLine(helps, room.columns - 3))}`];
}

function inputLines({ prompt, schema, until }: Pending, taskId: string, room: Room): string[] {
  const { columns, style } = room;
  const [first = "", ...rest] = wrap(prompt, columns - 3);
  const helps = `bridle task answer ${taskId} ${answerForm(schema)}`;
  return [
    `${style.warning(style.marks.asks)} ${style.strong(first)}`,
    ...rest.map((line) => `  ${style.strong(line)}`),
    ...(until === null ? [] : [style.faint(`  until ${momentText(until)}`)]),
    `  ${style.faint(oneLine(escapeControls(helps), columns - 3))}`,
  ];
}

/** Exactly what is asked for: the action, its risk, until when, and everything that comes with it. */
export function approvalLines(
  { prompt, request, until }: Pick<Pending, "prompt" | "request" | "until">,
  room: Room,
): string[] {
  const { columns, style } = room;
  const { risk, payload } = isRecord(request) ? request : {};
  const [first = "", ...rest] = wrap(`May it do this: ${prompt}`, columns - 3);
  const facts = [
    ...(typeof risk === "string" ? [`risk: ${risk}`] : []),
    ...(until === null ? [] : [`until ${momentText(until)}`]),
  ].join(", ");
  const most = room.isLast ? Number.POSITIVE_INFINITY : Math.max(payloadLinesMin, room.rows - otherRows);
  const lines = payloadLines(payload, columns);
  const hidden = Math.max(0, lines.length - most);
  const isHigh = risk === "high" || risk === "dangerous";
  return [
    `${style.warning(style.marks.asks)} ${style.strong(first)}`,
    ...rest.map((line) => `  ${style.strong(line)}`),
    ...(facts === ""
      ? []
      : [`  ${(isHigh ? style.danger : style.warning)(oneLine(escapeControls(facts), columns - 3))}`]),
    ...lines.slice(0, most).map((line) => `    ${line}`),
    ...(hidden > 0 ? [style.faint(`    … ${hidden} more lines`)] : []),
  ];
}

/** How many lines of what is to be approved are not on a screen like this: the end of the payload, or the beginning of a long action. */
export function hiddenLines(pending: Pending, room: Room): number {
  if (pending.kind === "input") return 0;
  const shown = pendingLines(pending, "", room).length;
  const all = pendingLines(pending, "", { ...room, isLast: true }).length;
  return Math.max(0, all - Math.min(shown, room.rows));
}

function payloadLines(payload: unknown, columns: number): string[] {
  if (payload === undefined || payload === null) return [];
  const text = typeof payload === "string" ? payload : JSON.stringify(payload, null, 2);
  return wrap(text, columns - 5);
}
