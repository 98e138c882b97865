/**
 * What comes into an approver's inbox, as it comes: by a stream of events where the gateway has one, and by looking
 * again where it has none or the stream is down. A gateway that is away is come back to.
 */

import type { ListedMessage } from "../../harp/core/gateway-answers.ts";
import { type GatewayClient, isNoAnswer, parsed } from "../../harp/core/gateway-client.ts";
import { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { readInbox } from "../../harp/core/inboxes.ts";
import { isObject } from "../../harp/core/read.ts";
import { backoffMs } from "../../web/backoff.ts";
import { gatewayBackoff, type Waiting } from "./waiting.ts";

/** How often to look where there is no stream: soon enough for a person, seldom enough for a gateway. */
const pollMs = 10_000;

export interface Watching {
  client: GatewayClient;
  approverId: string;
  waiting: Waiting;
  signal: AbortSignal;
  /** Hears why the gateway is come back to later. */
  onTrouble?: (error: GatewayRefusal) => void;
}

/** The same message can come more than once. Ends with the signal, or by throwing what no waiting will change. */
export async function* watchInbox(watching: Watching): AsyncGenerator<ListedMessage> {
  const { waiting, signal } = watching;
  const progress = { failures: 0, hasStream: true };
  while (!signal.aborted) {
    try {
      yield* lookAndListen(watching, progress);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof GatewayRefusal && error.isRetryable)) throw error;
      watching.onTrouble?.(error);
    }
    if (signal.aborted) return;
    progress.failures += 1;
    const waitMs = progress.hasStream ? backoffMs(gatewayBackoff, progress.failures, waiting.random) : pollMs;
    await waiting.pause(waitMs, signal);
  }
}

/** Once: what is there, then what comes, as long as the stream lasts. */
async function* lookAndListen(
  { client, approverId, signal }: Watching,
  progress: { failures: number; hasStream: boolean },
): AsyncGenerator<ListedMessage> {
  const me = encodeURIComponent(approverId);
  yield* readInbox(client, `/v1/approvers/${me}/inbox`, signal);
  if (!progress.hasStream) return;
  try {
    for await (const { event, data } of client.events(`/v1/sse/approvers/${me}`, signal)) {
      // It speaks, so it is there: the next time that it is lost is a first time.
      progress.failures = 0;
      const envelope = event === "approval.request" ? parsed(data) : undefined;
      if (isObject(envelope) && typeof envelope.requestId === "string") {
        yield { requestId: envelope.requestId, envelope };
      }
    }
  } catch (error) {
    if (!(error instanceof GatewayRefusal && hasNoStreams(error))) throw error;
    progress.hasStream = false;
  }
}

/** The inbox was there a moment ago: what is missing is not the gateway. */
function hasNoStreams(error: GatewayRefusal): boolean {
  return isNoAnswer(error) && [404, 405, 501].includes(error.status);
}
