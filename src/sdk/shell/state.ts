/** What a shell has to remember to go on later, also in another process: plain JSON, to be kept like a password. */

import { isObject, type Json, type JsonObject, member } from "./json.ts";
import type { Report } from "./outcome.ts";
import { type Continuation, parseContinuation } from "./response.ts";

const idCharsMax = 1024;
/** Per run; an engine that gave more has long forgotten the first ones. */
export const rememberedMax = 2000;
const bodyCharsMax = 4 * 1024 * 1024;

export interface ShellState {
  session_id: string;
  conversation_id?: string;
  /** The way back into the run that is open. */
  continuation?: Continuation;
  /** The request that was sent and not answered yet, with the reports in it. Sent again as it is, it has the same answer. */
  pending?: { request_id: string; body: string; told: string[] };
  /** The directives of the open run that were begun: none of them is begun again, whatever became of it. */
  begun: string[];
  /** What the engine has yet to be told, by the directive that it is about. */
  reports: { id: string; report: Report }[];
}

export function newState(sessionId: string, conversationId?: string): ShellState {
  const conversation = conversationId === undefined ? {} : { conversation_id: conversationId };
  return { session_id: sessionId, ...conversation, begun: [], reports: [] };
}

/** Null for what is no state, so that a damaged file costs a conversation and not the program. */
export function parseState(value: unknown): ShellState | null {
  try {
    // Whatever it is, what comes out of here is JSON.
    const source = JSON.parse(JSON.stringify(value)) as Json;
    return isObject(source) ? stateIn(source) : null;
  } catch {
    return null;
  }
}

function stateIn(source: JsonObject): ShellState | null {
  const get = (name: string) => member(source, name);
  const sessionId = shortText(get("session_id"));
  if (sessionId === undefined) return null;
  const continuation = parseContinuation(get("continuation"), "continuation");
  const pending = pendingIn(get("pending"));
  return {
    ...newState(sessionId, shortText(get("conversation_id"))),
    ...(continuation === undefined ? {} : { continuation }),
    ...(pending === undefined ? {} : { pending }),
    begun: textsIn(get("begun")),
    reports: listIn(get("reports")).flatMap(reportIn),
  };
}

function pendingIn(value: Json | undefined): ShellState["pending"] {
  if (!isObject(value)) return undefined;
  const [requestId, body] = [shortText(member(value, "request_id")), member(value, "body")];
  if (requestId === undefined || typeof body !== "string" || body.length > bodyCharsMax) return undefined;
  return { request_id: requestId, body, told: textsIn(member(value, "told")) };
}

function reportIn(value: Json): ShellState["reports"] {
  const source = isObject(value) ? value : {};
  const [id, report] = [shortText(member(source, "id")), member(source, "report")];
  if (id === undefined || !isObject(report)) return [];
  const [list, item] = [member(report, "list"), member(report, "item")];
  if ((list !== "outcomes" && list !== "approvals") || !isObject(item)) return [];
  return [{ id, report: { list, item } }];
}

function listIn(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value.slice(0, rememberedMax) : [];
}

function textsIn(value: Json | undefined): string[] {
  return listIn(value).filter((item): item is string => shortText(item) !== undefined);
}

function shortText(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= idCharsMax ? value : undefined;
}
