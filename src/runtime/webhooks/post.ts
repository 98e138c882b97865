/** One notification to one webhook, and what the answer means. Nothing of what the other side says is kept but its status. */

import type { Kernel } from "../../kernel/kernel.ts";
import type { PushConfigRecord, PushSecrets } from "../../kernel/kinds/push-config.ts";
import { OutboundFailed, OutboundRefused } from "../../policy/outbound.ts";
import { mintWebhookToken } from "../../policy/webhook-token.ts";
import { readRetryAfter } from "../../web/retry-after.ts";

/** Long enough for a receiver that does the work before it answers, short enough to hold up nobody. */
const limits = { connectMs: 10_000, headersMs: 15_000, totalMs: 15_000 };

const mediaTypes = { "1.0": "application/a2a+json", "0.3": "application/json" };
/** Those with which a receiver may say when it wants to be asked again. */
const saysWhen: ReadonlySet<number> = new Set([429, 503]);

export interface Failure {
  problem: string;
  /** Nothing is to be sent there any more: the receiver says so, or its key has ended. */
  isGone: boolean;
  retryAfterMs: number | null;
}

export interface Posting {
  kernel: Kernel;
  /** Where clients find this server. */
  publicUrl: string;
  config: PushConfigRecord;
  secrets: PushSecrets;
  body: object;
  signal: AbortSignal;
}

/** Null when it was taken. Throws only when the signal says so, or by a fault of ours. */
export async function post(posting: Posting): Promise<Failure | null> {
  const { kernel, secrets, body, signal } = posting;
  try {
    const answer = await kernel.outbound.request(secrets.url, {
      method: "POST",
      headers: await headersFor(posting),
      body: JSON.stringify(body),
      signal,
      ...limits,
    });
    // The status is all that counts; a body can be anything, and endless.
    answer.discard();
    const { status, headers } = answer;
    if (status >= 200 && status < 300) return null;
    const retryAfter = saysWhen.has(status) ? headers.get("retry-after") : null;
    return {
      problem: `The answer was ${status}.`,
      isGone: status === 410,
      retryAfterMs: readRetryAfter(retryAfter, kernel.clock.now()),
    };
  } catch (error) {
    if (!(error instanceof OutboundRefused) && !(error instanceof OutboundFailed)) throw error;
    return { problem: error.message, isGone: false, retryAfterMs: null };
  }
}

async function headersFor(posting: Posting): Promise<Record<string, string>> {
  const { config, secrets } = posting;
  const { token } = secrets;
  return {
    "content-type": mediaTypes[config.protocol_version],
    ...(await authorization(posting)),
    ...(token === null ? {} : { "x-opvs-notification-token": token, "x-a2a-notification-token": token }),
    ...config.trace,
  };
}

async function authorization(posting: Posting): Promise<{ authorization?: string }> {
  const { kernel, publicUrl, config, secrets } = posting;
  if (config.auth_scheme === null) return {};
  const credentials =
    secrets.credentials ??
    (await mintWebhookToken(
      kernel.issuer.key,
      {
        issuer: publicUrl,
        audience: new URL(secrets.url).origin,
        jti: kernel.newId("jti"),
        taskId: config.task_id,
      },
      kernel.clock.now(),
    ));
  return { authorization: `${config.auth_scheme} ${credentials}` };
}
