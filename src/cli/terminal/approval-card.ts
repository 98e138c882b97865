/** What a person sees before they say yes: everything that is approved, and how dangerous it is. */

import { approvalOf, type Directive, type Json, type RiskTier } from "../../sdk/shell/index.ts";
import type { Style } from "./style.ts";
import { oneLine, widthOf, wrap } from "./text.ts";

/** What scrolled away was not read: more lines than that are shown when they are asked for. */
const detailLinesMax = 40;

export interface Card {
  text: string;
  /** Lines of the details that are not in it. */
  hidden: number;
}

export function riskStyle(style: Style, tier: RiskTier): (text: string) => string {
  return { safe: style.good, caution: style.warning, dangerous: style.danger }[tier];
}

export function approvalCard(
  directive: Directive,
  style: Style,
  columns: number,
  linesMax = detailLinesMax,
): Card {
  const approval = approvalOf(directive);
  const isRequest = directive.actionType === "request_approval";
  const paint = riskStyle(style, directive.riskTier);
  const title = isRequest ? "Approval" : `Approval: ${oneLine(directive.actionType, columns - 30)}`;
  const details = isRequest ? approval.details : directive.payload;
  const rows: [string, string | undefined][] = [
    ["Summary", approval.summary ?? approval.message],
    ["Message", approval.message === approval.summary ? undefined : approval.message],
    ["Action", approval.action === approval.summary ? undefined : approval.action],
    ["Risk", approval.risk],
    ["Expires", approval.expiresAt && momentText(approval.expiresAt)],
    ["Hash", approval.artifactHash],
  ];
  const lines = detailLines(details, columns);
  const hidden = Math.max(0, lines.length - linesMax);
  const text = [
    heading(title, directive.riskTier, style, paint, columns),
    ...rows.flatMap(([name, value]) => (value === undefined ? [] : row(name, value, style, columns))),
    ...(lines.length === 0 ? [] : [`  ${style.faint("Details")}`]),
    ...lines.slice(0, linesMax).map((line) => `    ${line}`),
    ...(hidden > 0 ? [`    ${style.faint(`and ${hidden} more lines`)}`] : []),
    paint(style.marks.line.repeat(columns - 1)),
  ].join("\n");
  return { text, hidden };
}

function heading(
  title: string,
  tier: RiskTier,
  { marks, strong }: Style,
  paint: (text: string) => string,
  columns: number,
): string {
  const room = columns - 1 - widthOf(title) - tier.length - 8;
  const line = (count: number) => paint(marks.line.repeat(Math.max(count, 2)));
  return `${line(2)} ${strong(title)} ${line(room)} ${paint(tier)} ${line(2)}`;
}

const nameColumns = 9;

function row(name: string, value: string, { faint }: Style, columns: number): string[] {
  const [first = "", ...rest] = wrap(value, columns - nameColumns - 3);
  const blank = " ".repeat(nameColumns);
  return [`  ${faint(name.padEnd(nameColumns))}${first}`, ...rest.map((line) => `  ${blank}${line}`)];
}

function detailLines(details: Json | undefined, columns: number): string[] {
  if (details === undefined || details === null) return [];
  return wrap(typeof details === "string" ? details : JSON.stringify(details, null, 2), columns - 5);
}

/** A time that can be read, or what came instead of one. */
function momentText(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
