/** A request message: what the shell is and can do, whose conversation it is, and what is wanted. */

import { shellError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Report } from "./outcome.ts";
import { vendor } from "./profile.ts";
import { type Continuation, protocolVersion } from "./response.ts";

/** Content goes by reference, so what is larger than this should have been uploaded. */
const bodyCharsMax = 1024 * 1024;
const attachmentsMax = 100;

/** Content that the engine already has, or can find. At least one of `ref_id`, `uri` and `asset_id`. */
export interface Attachment {
  ref_id?: string;
  uri?: string;
  asset_id?: string;
  mime_type?: string;
  filename?: string;
  size_bytes?: number;
}

/** Which shell this is, so that the engine can answer in a form that fits it. */
export interface ShellIdentity {
  shell_kind: string;
  shell_version?: string;
  /** BCP 47, such as `en-GB`. */
  locale?: string;
  /** IANA, such as `Europe/Berlin`. */
  timezone?: string;
}

/** What the shell knows of its surroundings, and how private that is. */
export interface EnvironmentState extends JsonObject {
  privacy_tier: "public" | "restricted" | "secret";
}

export type Intent = string | JsonObject;

/** What is the same in every request of a conversation. */
export interface Envelope {
  readonly sessionId: string;
  readonly conversationId: string | undefined;
  readonly capabilities: JsonObject;
  readonly identity: ShellIdentity | undefined;
  readonly auth: JsonObject | undefined;
  readonly taskHint: JsonObject | undefined;
}

/** What one request is for. */
export interface Wish {
  readonly intent?: Intent;
  readonly attachments?: readonly Attachment[];
  readonly environment?: EnvironmentState | undefined;
  readonly continuation?: Continuation | undefined;
  readonly reports?: readonly Report[];
  readonly answers?: readonly { question_id: string; value: Json }[];
  readonly cancel?: { reason?: string };
}

export function requestBody(envelope: Envelope, wish: Wish, requestId: string): string {
  const { sessionId, conversationId, capabilities, identity, auth, taskHint } = envelope;
  const attachments = wish.attachments ?? [];
  requireReferences(attachments);
  const continuation = continuationOf(wish);
  const message = {
    protocol_version: protocolVersion,
    request_id: requestId,
    capabilities,
    request: {
      auth,
      context: {
        session_id: sessionId,
        conversation_id: conversationId,
        user_intent: wish.intent,
        // A run that goes on has its agent already.
        task_hint: continuation === undefined ? taskHint : undefined,
        continuation,
        environment_state: wish.environment,
        attachments: attachments.length === 0 ? undefined : attachments,
        shell: identity,
      },
    },
  };
  const body = JSON.stringify(message);
  if (body.length <= bodyCharsMax) return body;
  throw shellError(
    "invalid_argument",
    `The request has more than ${bodyCharsMax} characters. Upload large content and attach a reference to it.`,
  );
}

function continuationOf({ continuation, reports = [], answers = [], cancel }: Wish): object | undefined {
  if (continuation === undefined) return undefined;
  const items = (list: Report["list"]) =>
    reports.filter((report) => report.list === list).map((report) => report.item);
  const done = {
    ...nonEmpty("outcomes", items("outcomes")),
    ...nonEmpty("approvals", items("approvals")),
    ...nonEmpty("answers", answers),
    ...(cancel === undefined ? {} : { cancel }),
  };
  return Object.keys(done).length === 0 ? continuation : { ...continuation, extensions: { [vendor]: done } };
}

function nonEmpty(name: string, list: readonly unknown[]): object {
  return list.length === 0 ? {} : { [name]: list };
}

function requireReferences(attachments: readonly Attachment[]): void {
  if (attachments.length > attachmentsMax) {
    throw shellError("invalid_argument", `At most ${attachmentsMax} attachments can go with one request.`);
  }
  for (const { ref_id, uri, asset_id } of attachments) {
    if (ref_id === undefined && uri === undefined && asset_id === undefined) {
      throw shellError("invalid_argument", "An attachment needs a ref_id, a uri or an asset_id.");
    }
    if (uri !== undefined && /^\s*data:/i.test(uri)) {
      throw shellError("invalid_argument", "An attachment is a reference: upload the content first.");
    }
  }
}

/** An id that nobody else makes. Not `randomUUID`, which browsers have only on secure pages. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${prefix}_${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
