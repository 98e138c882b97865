/**
 * Which connected host is asked to do what. The log says which calls are open; here is only remembered to whom each was
 * offered, so that it is offered to one host at a time, and to the next when that one goes away.
 */

import { unseal } from "../../../kernel/core/content.ts";
import { asKernelEvent } from "../../../kernel/core/events.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { callIdOf, findOpenCall, openHostCalls, taskOfCall } from "../../../kernel/tasks/host-calls.ts";
import type { StoredEvent, TenantStore } from "../../../store/port.ts";
import type { RequestFrame } from "./requests.ts";

export interface Host {
  capabilities: ReadonlySet<string>;
  /** Resolves when the next offer may follow. */
  offer(frame: RequestFrame): Promise<void>;
  /** Something about the host's calls could not be read. */
  fail(error: unknown): void;
}

interface Offer {
  callId: string;
  capability: string;
  host: Host;
}

/** The hosts of one session. */
interface Desk {
  store: TenantStore;
  hosts: Set<Host>;
  offers: Map<string, Offer>;
  stopListening: () => void;
}

export class Hosts {
  readonly #kernel: Kernel;
  readonly #desks = new Map<string, Desk>();
  /** The offers to a host follow each other. */
  readonly #turns = new WeakMap<Host, Promise<void>>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** From here on the host is asked for what it can do, what was asked for before it came included. */
  async join(tenantId: string, sessionId: string, host: Host): Promise<void> {
    const desk = this.#desks.get(sessionId) ?? this.#open(tenantId, sessionId);
    desk.hosts.add(host);
    for await (const { call } of openHostCalls(desk.store, sessionId)) {
      this.#assign(desk, call.call_id, call.capability);
    }
  }

  /** What it was asked for and has not answered is asked of others. */
  leave(sessionId: string, host: Host): void {
    const desk = this.#desks.get(sessionId);
    if (desk?.hosts.delete(host) !== true) return;
    for (const offer of [...desk.offers.values()].filter((offered) => offered.host === host)) {
      desk.offers.delete(offer.callId);
      this.#assign(desk, offer.callId, offer.capability);
    }
    if (desk.hosts.size > 0) return;
    desk.stopListening();
    this.#desks.delete(sessionId);
  }

  #open(tenantId: string, sessionId: string): Desk {
    const store = this.#kernel.store.of(tenantId);
    const desk: Desk = { store, hosts: new Set(), offers: new Map(), stopListening: () => {} };
    desk.stopListening = this.#kernel.tail.on(`session:${sessionId}`, (event) => this.#hear(desk, event));
    this.#desks.set(sessionId, desk);
    return desk;
  }

  #hear(desk: Desk, stored: StoredEvent): void {
    const event = asKernelEvent(stored);
    if (event.replay !== undefined) return;
    switch (event.event) {
      case "span.started": {
        const { host_call, name } = event.payload;
        if (host_call !== undefined) this.#assign(desk, host_call.call_id, name);
        break;
      }
      case "span.completed":
      case "span.failed":
        if (event.payload.kind === "host")
          desk.offers.delete(callIdOf(event.resource.id, event.payload.step));
        break;
      case "task.completed":
      case "task.failed":
      case "task.canceled":
        for (const callId of desk.offers.keys())
          if (taskOfCall(callId) === event.resource.id) desk.offers.delete(callId);
        break;
    }
  }

  /** To the host that can do it and has least to do; to nobody if there is none, until one comes. */
  #assign(desk: Desk, callId: string, capability: string): void {
    if (desk.offers.has(callId)) return;
    const host = leastBusy(desk, capability);
    if (host === undefined) return;
    desk.offers.set(callId, { callId, capability, host });
    this.#offer(desk, host, callId);
  }

  #offer(desk: Desk, host: Host, callId: string): void {
    const turn = (this.#turns.get(host) ?? Promise.resolve()).then(async () => {
      if (desk.offers.get(callId)?.host === host) await this.#send(desk, host, callId);
    });
    this.#turns.set(
      host,
      turn.catch((error) => host.fail(error)),
    );
  }

  /** Read when its turn comes: until then a call costs its name, and one that is over is not offered. */
  async #send(desk: Desk, host: Host, callId: string): Promise<void> {
    const found = await findOpenCall(desk.store, callId);
    if (found === undefined) {
      desk.offers.delete(callId);
      return;
    }
    const { task, call } = found;
    await host.offer({
      type: "request",
      request_id: callId,
      call_id: callId,
      kind: "host_tool",
      task_id: task.id,
      capability: call.capability,
      input: await unseal(call.input, desk.store),
      expires_at: call.expires_at,
    });
  }
}

function leastBusy({ hosts, offers }: Desk, capability: string): Host | undefined {
  const load = new Map<Host, number>();
  for (const { host } of offers.values()) load.set(host, (load.get(host) ?? 0) + 1);
  let least: Host | undefined;
  for (const host of hosts) {
    if (!host.capabilities.has(capability)) continue;
    if (least === undefined || (load.get(host) ?? 0) < (load.get(least) ?? 0)) least = host;
  }
  return least;
}
