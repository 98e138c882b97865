/** The response message (§5.2): what became of a request, in the envelope that every one has. */

import { Compile } from "typebox/schema";
import type { ShellLinkRecord, ToldTurn } from "../../kernel/kinds/shell-link.ts";
import { tokenOf } from "../../kernel/openharness/continuations.ts";
import { lazy } from "../../lazy.ts";
import { type Negotiated, supportedCapabilities } from "./capabilities.ts";
import { failedRun } from "./errors.ts";
import type { RunView } from "./view/run-view.ts";
import {
  type ErrorObject,
  extensionKey,
  protocolVersion,
  ResponseMessage,
  supportedVersions,
} from "./wire.ts";

/** What comes back with every response, as far as it could be read (§5). */
export interface Echo {
  requestId: string | null;
  correlationId: string | null;
}

const responses = lazy(() => Compile(ResponseMessage));
/** Ids longer than this are not worth sending back. */
const echoCharsMax = 4096;

/** The ids of a message that may be wrong in every other way. */
export function echoOf(value: unknown, correlationHeader: string | null): Echo {
  const { request_id, correlation_id }: { request_id?: unknown; correlation_id?: unknown } = Object(value);
  return { requestId: readable(request_id), correlationId: readable(correlation_id) ?? correlationHeader };
}

function readable(id: unknown): string | null {
  return typeof id === "string" && id !== "" && id.length <= echoCharsMax ? id : null;
}

function envelope(
  { requestId, correlationId }: Echo,
  denials: Negotiated["denials"],
  response: ResponseMessage["response"],
): ResponseMessage {
  const message: ResponseMessage = {
    protocol_version: protocolVersion,
    ...(requestId === null ? {} : { request_id: requestId }),
    ...(correlationId === null ? {} : { correlation_id: correlationId }),
    supported_protocol_versions: supportedVersions,
    supported_capabilities: supportedCapabilities,
    capability_denials: denials,
    response,
  };
  // What we say must be what the protocol says; anything else is a fault of ours, found here and not by a shell.
  if (!responses().Check(message)) throw new Error("A response is not as the protocol has it");
  return message;
}

export function errorResponse(
  echo: Echo,
  denials: Negotiated["denials"],
  error: ErrorObject,
): ResponseMessage {
  return envelope(echo, denials, { status: "error", error });
}

export interface Ending {
  link: ShellLinkRecord;
  told: ToldTurn;
  notTaken: readonly string[];
}

export async function runResponse(
  echo: Echo,
  denials: Negotiated["denials"],
  view: RunView,
  { link, told, notTaken }: Ending,
): Promise<ResponseMessage> {
  const { task } = view;
  const isFailed = view.isOver && task.status !== "COMPLETED";
  return envelope(echo, denials, {
    status: isFailed ? "error" : "success",
    engine_latency_ms: told.latency_ms,
    action_directives: await view.directives(),
    ...(isFailed ? { error: failedRun(task.id, task.failure) } : {}),
    ...(told.expires_at === null
      ? {}
      : {
          continuation: {
            run_id: task.id,
            sop_id: task.agent.name,
            continuation_token: tokenOf(link, told.turn),
            expires_at: told.expires_at,
          },
        }),
    extensions: {
      [extensionKey]: {
        run_id: task.id,
        session_id: task.session_id,
        run_status: task.status,
        ...(task.outcome?.receipt_id == null ? {} : { receipt_id: task.outcome.receipt_id }),
        ...(notTaken.length === 0 ? {} : { not_taken: notTaken }),
      },
    },
  });
}
