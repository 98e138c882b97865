/** The gateway for an enforcer in the same process: the same exchanges, inboxes and channels, without a wire. */

import { type GatewayLink, GatewayRefusal } from "../core/gateway-link.ts";
import type { DecisionDeliver, Hello, RefreshRequest } from "../core/wire.ts";
import type { Hint, Told } from "./channels.ts";
import type { Gateway } from "./gateway.ts";
import type { Principal } from "./principal.ts";
import { timeText } from "./times.ts";

export interface EmbeddedEnforcer {
  tenantId: string;
  enforcerId: string;
  /** What people see of it when they are asked. */
  enforcerLabel?: string;
  workspaceName?: string;
}

export function embeddedLink(gateway: Gateway, enforcer: EmbeddedEnforcer): GatewayLink {
  const { tenantId, enforcerId, ...labels } = enforcer;
  const principal: Principal = { tenantId, role: "enforcer", id: enforcerId };
  const hello = { capabilities: { push: true }, ...labels };
  return {
    enforcerId,
    // As over a wire: what is kept here and what the enforcer holds are two things.
    submit: (envelope) => gateway.submitArtifact(principal, structuredClone(envelope)),
    async withdraw(requestId) {
      await gateway.withdraw(principal, requestId);
    },
    status: (requestId) => orNull(gateway.exchangeStatus(principal, requestId)),
    async acknowledge(requestId, msgId, status) {
      const at = timeText(gateway.deps.now());
      await gateway.acknowledge(principal, {
        msgType: "ack.submit",
        requestId,
        createdAt: at,
        sender: { enforcerId },
        body: { msgId, status, ackAt: at },
      });
    },
    messages: (signal) => messages(gateway, principal, hello, signal),
    initiatePairing: (request) => gateway.initiatePairing(principal, { ...labels, ...request, enforcerId }),
    pairing: (nonce) => orNull(gateway.pairingStatus(principal, nonce)),
  };
}

/** Null for what is not there, or no longer. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 404) return null;
    throw error;
  }
}

/** Nothing waits in between: the channel goes on when the reader asks for more. */
async function* messages(
  gateway: Gateway,
  principal: Principal,
  hello: Omit<Hello, "msgType">,
  signal: AbortSignal,
): AsyncGenerator<DecisionDeliver | RefreshRequest> {
  const hand = new Hand();
  const channel = await gateway.connect(
    principal,
    { role: "enforcer", id: principal.id },
    {
      transport: "websocket",
      isAlwaysAlive: true,
      send: (message) => hand.offer(message),
      end: () => hand.close(),
    },
  );
  gateway.introduce(channel, hello);
  const wake = () => hand.wake();
  signal.addEventListener("abort", wake);
  try {
    while (true) {
      const message = await hand.take(signal);
      if (message === null) return;
      const { msgType } = message;
      if (msgType === "decision.deliver" || msgType === "refresh.request") yield structuredClone(message);
    }
  } finally {
    signal.removeEventListener("abort", wake);
    channel.close();
  }
}

/** One message at a time, from one who offers to one who takes. */
class Hand {
  #offered: { message: Told | Hint; taken: () => void } | null = null;
  #isClosed = false;
  #resume = () => {};

  /** Resolves when it was taken, or nobody will. */
  offer(message: Told | Hint): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((taken) => {
      this.#offered = { message, taken };
      this.wake();
    });
  }

  /** Null when the signal says that nothing more is wanted. */
  async take(signal: AbortSignal): Promise<Told | Hint | null> {
    while (!signal.aborted) {
      const offered = this.#offered;
      if (offered !== null) {
        this.#offered = null;
        offered.taken();
        return offered.message;
      }
      if (this.#isClosed) throw new Error("The gateway has ended this channel.");
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
    return null;
  }

  wake(): void {
    this.#resume();
  }

  close(): void {
    this.#isClosed = true;
    this.#offered?.taken();
    this.wake();
  }
}
