/** A request as a person sees it before deciding: all that is signed, and what the gateway says marked as such. */

import { parseTime } from "../../harp/core/times.ts";
import type {
  Artifact,
  OpenedRequest,
  PendingRequest,
  UnopenedRequest,
} from "../../sdk/approver/approver.ts";
import { styleOf } from "../terminal/style.ts";
import { escapeControls, escapedJson, fitsBehind, oneLine, quoted } from "../terminal/text.ts";

const labelWidth = 10;

/** Members of a payload that have a place of their own; all others are shown below them. */
const known = ["action", "title", "risk", "details", "task", "step"] as const;

export function describe(request: PendingRequest, nowMs: number): string {
  return request.isOpened ? describeOpened(request, nowMs) : describeUnopened(request);
}

function describeOpened(request: OpenedRequest, nowMs: number): string {
  const { artifact, metadata } = request;
  return [
    field("Request", artifact.requestId),
    ...describePayload(artifact),
    field("Kind", artifact.artifactType),
    field("About", artifact.repoRef),
    artifact.baseRevision === undefined ? "" : field("Revision", artifact.baseRevision),
    artifact.sessionId === undefined ? "" : field("Session", artifact.sessionId),
    artifact.metadata === undefined ? "" : field("Metadata", artifact.metadata),
    describeExtensions(artifact),
    field("Made", artifact.createdAt),
    `${label("Expires")}${oneLine(artifact.expiresAt)}, ${timeLeft(artifact.expiresAt, nowMs)}\n`,
    describeTerms(request),
    field("Hash", artifact.artifactHash),
    describeMetadata(metadata),
  ].join("");
}

/** Nothing of what is inside: it could be anything, by anybody. */
function describeUnopened({ requestId, problem, metadata }: UnopenedRequest): string {
  return [
    field("Request", requestId),
    `${label("Closed")}${styleOf().danger(`${oneLine(problem.message)} (${problem.code})`)}\n`,
    "It cannot be shown, and nothing can be signed for it.\n",
    describeMetadata(metadata),
  ].join("");
}

function describePayload({ payload }: Artifact): string[] {
  const others = Object.entries(payload).filter(([name]) => !known.some((each) => each === name));
  const shown = known.flatMap((name) => {
    if (!Object.hasOwn(payload, name)) return [];
    const title = name[0]?.toUpperCase() + name.slice(1);
    return [name === "risk" ? riskField(payload.risk) : field(title, payload[name])];
  });
  return others.length === 0 ? shown : [...shown, field("More", Object.fromEntries(others))];
}

const riskPaints = { low: "good", medium: "warning", high: "danger", critical: "danger" } as const;

function riskField(risk: unknown): string {
  if (typeof risk !== "string" || !fitsBehind(risk, labelWidth + 1)) return field("Risk", risk);
  const level = Object.entries(riskPaints).find(([name]) => name === risk.toLowerCase());
  const text = oneLine(risk);
  return `${label("Risk")}${level === undefined ? text : styleOf()[level[1]](text)}\n`;
}

/** All but the salt, which only keeps the hash from being guessed. */
function describeExtensions({ extensions = {} }: Artifact): string {
  const shown = Object.entries(extensions).flatMap(([name, value]): [string, unknown][] => {
    if (name !== "gwProfile" || typeof value !== "object" || value === null) return [[name, value]];
    const members = Object.entries(value).filter(([member]) => member !== "salt");
    return members.length === 0 ? [] : [[name, Object.fromEntries(members)]];
  });
  return shown.length === 0 ? "" : field("Extensions", Object.fromEntries(shown));
}

function describeTerms({ terms }: OpenedRequest): string {
  if (terms === null) return "";
  const { scope, expiresAt, sessionId } = terms;
  const session = sessionId === undefined ? "" : `, in session ${sessionId}`;
  return field(
    "Offered",
    `scope ${scope} until ${expiresAt}${session}; signed for one use unless you say --as-offered`,
  );
}

function describeMetadata(metadata: Record<string, unknown>): string {
  if (Object.keys(metadata).length === 0) return "";
  const lines = Object.entries(metadata).map(([name, value]) => {
    return `${name}: ${typeof value === "string" ? value : escapedJson(value)}`;
  });
  return `${styleOf().faint("The gateway says, and nobody has verified:")}\n${quoted(lines.join("\n"))}`;
}

function field(name: string, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const isInline = typeof value !== "object" && fitsBehind(text, labelWidth + 1);
  return isInline ? `${label(name)}${escapeControls(text)}\n` : `${name}\n${quoted(text)}`;
}

function label(name: string): string {
  return `${name.padEnd(labelWidth)} `;
}

/** `9 min left`, or since when it is over. */
function timeLeft(expiresAt: string, nowMs: number): string {
  const leftMs = (parseTime(expiresAt) ?? Number.NaN) - nowMs;
  if (!(leftMs > 0)) return styleOf().danger("which has passed");
  const seconds = Math.floor(leftMs / 1000);
  if (seconds < 60) return styleOf().danger(`${seconds} s left`);
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min left` : `${Math.floor(seconds / 3600)} h left`;
}

/** One line of a list. */
export function summary(request: PendingRequest, nowMs: number): string {
  const id = oneLine(request.requestId);
  if (!request.isOpened) return `${id}  ${styleOf().danger("closed")}  ${oneLine(request.problem.message)}\n`;
  const { payload, expiresAt, artifactType } = request.artifact;
  const { action, title, risk } = payload;
  const what = [action, title].find((each) => typeof each === "string") ?? artifactType;
  const level = typeof risk === "string" ? oneLine(risk, 10) : "-";
  return `${id}  ${level.padEnd(8)}  ${oneLine(String(what), 60)}  (${timeLeft(expiresAt, nowMs)})\n`;
}

/** For `--json`: what was opened, or why it was not. */
export function jsonOf(request: PendingRequest): object {
  const { requestId, isOpened, metadata } = request;
  if (!request.isOpened)
    return { requestId, isOpened, problem: request.problem, unverifiedMetadata: metadata };
  const { artifact, terms } = request;
  return { requestId, isOpened, artifact, terms, unverifiedMetadata: metadata };
}
