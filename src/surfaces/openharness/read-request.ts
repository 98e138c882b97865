/** From a message to what the kernel takes: everything that can be wrong with a request by itself is found here. */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { ShellAttachment } from "../../kernel/openharness/intents.ts";
import type { TakeShellTurn } from "../../kernel/openharness/take-shell-turn.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { checker } from "../validate.ts";
import { askedFor } from "./capabilities.ts";
import {
  extensionKey,
  protocolVersion,
  type RequestContext,
  RequestMessage,
  supportedVersions,
  Version,
} from "./wire.ts";

/** A reference is short; what is longer and looks like base64 is the thing itself. */
const embeddedCharsMax = 1024;
const uriCharsMax = 8192;

const checkVersion = checker(Version);
const checkMessage = checker(RequestMessage);

export function readMessage(value: unknown): RequestMessage {
  const { protocol_version: version } = checkVersion(value);
  const [major] = version.split(".");
  if (major !== protocolVersion.split(".")[0]) {
    throw new HarnessError(
      "unsupported_protocol_version",
      `This engine speaks ${supportedVersions.join(", ")} and every other version ${protocolVersion.split(".")[0]}.`,
      { param: "protocol_version" },
    );
  }
  return checkMessage(value);
}

export type ReadTurn = Omit<TakeShellTurn, "newTaskId" | "trace">;

export function readTurn(message: RequestMessage): ReadTurn {
  const { auth, context = {} } = message.request;
  const brought = context.continuation?.extensions?.[extensionKey] ?? {};
  const { outcomes = [], approvals = [], answers = [], cancel = null } = brought;
  return {
    continuation: continuationOf(context),
    conversation: conversationOf(auth, context),
    sop: sopOf(context),
    // Checked to be an object of JSON, whatever else is in it.
    hint: (context.task_hint ?? {}) as JsonObject,
    intent: (context.user_intent ?? null) as JsonValue,
    attachments: (context.attachments ?? []).map(attachmentOf),
    identity: identityOf(context),
    capabilities: askedFor(message),
    environment: environmentOf(context),
    outcomes: outcomes.map(({ directive_id, status, result = null, error }) => ({
      directiveId: directive_id,
      status,
      result: result as JsonValue,
      error: error === undefined ? null : { code: error.code, message: error.message ?? "" },
    })),
    approvals: approvals.map(({ request_id, artifact_hash, approved, reason = null }) => ({
      requestId: request_id,
      artifactHash: artifact_hash,
      approved,
      reason,
    })),
    answers: answers.map(({ question_id, value }) => ({
      questionId: question_id,
      value: value as JsonValue,
    })),
    cancel: cancel === null ? null : { reason: cancel.reason ?? null },
  };
}

/** One that names neither a run nor a token continues nothing. */
function continuationOf({ continuation }: RequestContext): ReadTurn["continuation"] {
  const runId = continuation?.run_id ?? null;
  const token = continuation?.continuation_token ?? null;
  return runId === null && token === null ? null : { runId, token, sopId: continuation?.sop_id ?? null };
}

function conversationOf(
  auth: RequestMessage["request"]["auth"],
  { session_id, conversation_id }: RequestContext,
): ReadTurn["conversation"] {
  const sessionId = session_id ?? auth?.session_id ?? null;
  const conversationId = conversation_id ?? null;
  if (sessionId === null && conversationId === null) return null;
  return { owner: auth?.tenant_id ?? null, sessionId: sessionId ?? "", conversationId };
}

function sopOf({ task_hint, continuation }: RequestContext): ReadTurn["sop"] {
  const { sop_id, plugin_id } = task_hint ?? {};
  // A continuation that names neither a run nor a token names whose work it is, and begins it.
  const continued =
    continuation?.run_id == null && continuation?.continuation_token == null
      ? continuation?.sop_id
      : undefined;
  if (sop_id === undefined && continued != null) {
    return { name: continued, param: "request.context.continuation.sop_id" };
  }
  if (sop_id !== undefined) return { name: sop_id, param: "request.context.task_hint.sop_id" };
  if (plugin_id !== undefined) return { name: plugin_id, param: "request.context.task_hint.plugin_id" };
  return null;
}

/** The members that are known; others may be anything. */
function identityOf({ shell }: RequestContext): ReadTurn["identity"] {
  const { shell_kind, shell_version, locale, timezone } = shell ?? {};
  return {
    ...(shell_kind === undefined ? {} : { shell_kind }),
    ...(shell_version === undefined ? {} : { shell_version }),
    ...(locale === undefined ? {} : { locale }),
    ...(timezone === undefined ? {} : { timezone }),
  };
}

/** What nobody has classified may be personal. */
function environmentOf({ environment_state }: RequestContext): ReadTurn["environment"] {
  if (environment_state === undefined) return null;
  const { privacy_tier: tier = "restricted", ...state } = environment_state;
  return { tier, state: state as JsonObject };
}

function attachmentOf(
  attachment: NonNullable<RequestContext["attachments"]>[number],
  index: number,
): ShellAttachment {
  const param = `request.context.attachments[${index}]`;
  requireReference(attachment, param);
  const { ref_id, asset_id, uri, mime_type, filename, size_bytes } = attachment;
  const artifactId = ref_id ?? asset_id;
  const about = {
    ...(filename === undefined ? {} : { filename }),
    ...(mime_type === undefined ? {} : { mime_type }),
    ...(size_bytes === undefined ? {} : { size_bytes }),
  };
  if (artifactId !== undefined) return { target: { artifactId }, mimeType: mime_type ?? null, about };
  if (uri !== undefined)
    return { target: { uri: requireUri(uri, param) }, mimeType: mime_type ?? null, about };
  throw invalid("An attachment has a ref_id, an asset_id or a uri.", param);
}

/** Of any scheme, as apps have their own. Nobody asks it here. */
function requireUri(uri: string, param: string): string {
  if (uri.length <= uriCharsMax && URL.canParse(uri)) return uri;
  throw invalid("The uri of an attachment is a whole address.", `${param}.uri`);
}

/** Attachments are references (§9.1): data in the message, under whatever name, is refused. */
function requireReference(value: unknown, param: string): void {
  if (typeof value === "string") {
    const isEmbedded =
      /^data:/i.test(value) || (value.length > embeddedCharsMax && /^[\w+/=\s-]+$/.test(value));
    if (isEmbedded) throw invalid("Attachments are references; upload the data first.", param);
  } else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) requireReference(inner, param);
  }
}

function invalid(message: string, param: string): HarnessError {
  return new HarnessError("invalid_request", message, { param });
}
