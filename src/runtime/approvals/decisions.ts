/**
 * The decisions of a tenant's approvers, as its gateway delivers them: each is judged by the kernel, and acknowledged once
 * the judgement is on disk. A decision that comes again is judged again, and counts for nothing.
 */

import type { Logger } from "pino";
import { type GatewayLink, GatewayRefusal } from "../../harp/core/gateway-link.ts";
import type { DecisionDeliver, RefreshRequest } from "../../harp/core/wire.ts";
import { noteExchange } from "../../kernel/approvals/open-exchanges.ts";
import { receiveDecision } from "../../kernel/approvals/receive-decision.ts";
import { runCommand } from "../../kernel/core/dispatch.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { systemCaller } from "../../policy/caller.ts";
import { backoffMs } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";

const backoff = { firstMs: 1000, mostMs: 60_000 };

export interface DecisionsOptions {
  kernel: Kernel;
  logger: Logger;
  tenantId: string;
  link: GatewayLink;
  signal: AbortSignal;
  /** The gateway can be reached (again): what could not be submitted before can be now. */
  onConnected(): void;
}

/** Until the signal. A gateway that is away is tried again, later and later, with jitter. */
export async function receiveDecisions(options: DecisionsOptions): Promise<void> {
  const { logger, link, signal, tenantId } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const message of link.messages(signal)) {
        failures = 0;
        await handle(options, message);
      }
      options.onConnected();
    } catch (error) {
      if (signal.aborted) return;
      logger.warn(
        { event: "approval.gateway_unreachable", err: error, tenant: tenantId },
        "The HARP gateway cannot be reached; retrying",
      );
    }
    failures += 1;
    await pause(backoffMs(backoff, failures), signal);
  }
}

async function handle(options: DecisionsOptions, message: DecisionDeliver | RefreshRequest): Promise<void> {
  if (message.msgType === "decision.deliver") await judge(options, message);
  else await askAgain(options, message.requestId);
}

async function judge(
  { kernel, logger, tenantId, link }: DecisionsOptions,
  message: DecisionDeliver,
): Promise<void> {
  const { requestId, msgId, body } = message;
  const reason = typeof body.reason === "string" ? body.reason : null;
  const verdict = await runCommand(kernel, receiveDecision, systemCaller(tenantId), {
    requestId,
    body,
    reason,
  });
  if (!verdict.accepted) {
    const { code, message: problem } = verdict;
    const about = { event: "approval.decision_refused", tenant: tenantId, harp_request: requestId, code };
    logger.warn(about, `A decision does not count: ${problem}`);
  }
  try {
    await link.acknowledge(requestId, msgId, "processed");
  } catch (error) {
    // It will come again, and be acknowledged then.
    if (!(error instanceof GatewayRefusal)) throw error;
  }
}

/** An approver wants to see it again: under a new name, since what was asked under the old one is over. */
async function askAgain({ kernel, tenantId }: DecisionsOptions, requestId: string): Promise<void> {
  const closed = { requestId, note: "closed", reason: "an approver asked for it anew" } as const;
  await runCommand(kernel, noteExchange, systemCaller(tenantId), closed);
}
