/** The link of an enforcer that lives in the same process: the same verbs and the same channels as over the network, without one. */

import { type GatewayLink, GatewayRefusal } from "../approvals/gateway-link.ts";
import type { DecisionDeliver, RefreshRequest } from "../approvals/wire.ts";
import type { Hint, Told } from "./channels.ts";
import type { Gateway } from "./gateway.ts";
import type { Principal } from "./principal.ts";

export interface EmbeddedEnforcer {
  tenantId: string;
  enforcerId: string;
  enforcerLabel: string;
}

export function embeddedLink(
  gateway: Gateway,
  { tenantId, enforcerId, enforcerLabel }: EmbeddedEnforcer,
): GatewayLink {
  const principal: Principal = { tenantId, role: "enforcer", id: enforcerId };
  return {
    enforcerId,
    submit: (envelope) => gateway.submitArtifact(principal, envelope),
    async withdraw(requestId) {
      await gateway.withdraw(principal, requestId);
    },
    status: (requestId) => orNull(gateway.exchangeStatus(principal, requestId)),
    async acknowledge(requestId, msgId, status) {
      const at = new Date(gateway.deps.now()).toISOString();
      await gateway.acknowledge(principal, {
        msgType: "ack.submit",
        requestId,
        createdAt: at,
        sender: { enforcerId },
        body: { msgId, status, ackAt: at },
      });
    },
    messages: (signal) => messages(gateway, principal, enforcerLabel, signal),
    initiatePairing: (request) =>
      gateway.initiatePairing(principal, { enforcerId, enforcerLabel, ...request }),
    pairing: (nonce) => orNull(gateway.pairingStatus(principal, nonce)),
  };
}

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GatewayRefusal && error.status === 404) return null;
    throw error;
  }
}

/** One message at a time: the next is told when this one is dealt with. */
async function* messages(
  gateway: Gateway,
  principal: Principal,
  enforcerLabel: string,
  signal: AbortSignal,
): AsyncGenerator<DecisionDeliver | RefreshRequest> {
  const slot = new Slot<Told | Hint>();
  const onAbort = () => slot.close();
  signal.addEventListener("abort", onAbort);
  const channel = await gateway.connect(
    principal,
    { role: "enforcer", id: principal.id },
    {
      transport: "websocket",
      isAlwaysAlive: true,
      send: (message) => slot.put(message),
      end: () => slot.close(),
    },
  );
  gateway.introduce(channel, { capabilities: { push: true }, enforcerLabel });
  try {
    if (signal.aborted) return;
    for (let message = await slot.take(); message !== null; message = await slot.take()) {
      if (message.msgType === "decision.deliver" || message.msgType === "refresh.request") yield message;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    channel.close();
  }
}

/** Room for one thing, which is put there when the one before it was taken. */
class Slot<T> {
  #content: T | null = null;
  #isClosed = false;
  #onChange: () => void = () => {};
  #changed: Promise<void> = Promise.resolve();

  constructor() {
    this.#renew();
  }

  /** Resolves when there is room for more, and at once when nobody takes anything any more. */
  async put(thing: T): Promise<void> {
    this.#content = thing;
    this.#change();
    while (this.#content !== null && !this.#isClosed) await this.#changed;
  }

  /** Null when there will be nothing more. */
  async take(): Promise<T | null> {
    while (this.#content === null && !this.#isClosed) await this.#changed;
    const thing = this.#content;
    this.#content = null;
    this.#change();
    return thing;
  }

  close(): void {
    this.#isClosed = true;
    this.#change();
  }

  #change(): void {
    const tell = this.#onChange;
    this.#renew();
    tell();
  }

  #renew(): void {
    this.#changed = new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }
}
