/**
 * Which enforcers were heard of, and when: in memory, informational, and never a reason for anything. A decision is
 * delivered the same whatever is said here.
 */

import type { Hello, Presence } from "../approvals/wire.ts";
import type { Mailbox } from "./principal.ts";
import { ownerId } from "./records/exchange.ts";
import { timeText } from "./times.ts";

/** Those that were not heard of for longest are forgotten first. */
const enforcersMax = 20_000;

interface Heard {
  tenantId: string;
  enforcerId: string;
  heardAtMs: number;
  transport: Presence["transport"];
  /** Channels that are open now. */
  channels: number;
  hello: Omit<Hello, "msgType"> | null;
}

export class PresenceBook {
  readonly #heard = new Map<string, Heard>();
  readonly #now: () => number;
  readonly #ttlMs: number;

  constructor(now: () => number, ttlMs: number) {
    this.#now = now;
    this.#ttlMs = ttlMs;
  }

  /** An enforcer called; with a channel open, that is not how it is reached. */
  called(enforcer: Mailbox): void {
    const before = this.#heard.get(ownerId(enforcer));
    this.#note(enforcer, before !== undefined && before.channels > 0 ? before.transport : "poll");
  }

  connected(enforcer: Mailbox, transport: "websocket" | "sse"): void {
    this.#note(enforcer, transport).channels += 1;
  }

  /** Something came over a channel, if only an answer to a ping. */
  alive(enforcer: Mailbox, transport: "websocket" | "sse"): void {
    this.#note(enforcer, transport);
  }

  introduced(
    enforcer: Mailbox,
    { capabilities, workspaceName, enforcerLabel }: Omit<Hello, "msgType">,
  ): void {
    const heard = this.#heard.get(ownerId(enforcer));
    if (heard === undefined) return;
    heard.hello = {
      capabilities,
      ...(workspaceName === undefined ? {} : { workspaceName }),
      ...(enforcerLabel === undefined ? {} : { enforcerLabel }),
    };
  }

  disconnected(enforcer: Mailbox): void {
    const heard = this.#heard.get(ownerId(enforcer));
    if (heard !== undefined) heard.channels = Math.max(0, heard.channels - 1);
  }

  of(enforcer: Mailbox): Presence | null {
    const heard = this.#heard.get(ownerId(enforcer));
    return heard === undefined ? null : this.#present(heard);
  }

  inTenant(tenantId: string): Presence[] {
    return [...this.#heard.values()]
      .filter((heard) => heard.tenantId === tenantId)
      .map((heard) => this.#present(heard))
      .sort((a, b) => (a.enforcerDeviceId < b.enforcerDeviceId ? -1 : 1));
  }

  #note(enforcer: Mailbox, transport: Presence["transport"]): Heard {
    const key = ownerId(enforcer);
    const heard: Heard = this.#heard.get(key) ?? {
      tenantId: enforcer.tenantId,
      enforcerId: enforcer.id,
      heardAtMs: 0,
      transport,
      channels: 0,
      hello: null,
    };
    heard.heardAtMs = this.#now();
    heard.transport = transport;
    // Put at the end again: the first in the map is the one that was heard of longest ago.
    this.#heard.delete(key);
    this.#heard.set(key, heard);
    const [oldest] = this.#heard.keys();
    if (this.#heard.size > enforcersMax && oldest !== undefined) this.#heard.delete(oldest);
    return heard;
  }

  /** Online is who has a channel that was heard of lately, or calls from time to time. */
  #present({ enforcerId, heardAtMs, transport, channels, hello }: Heard): Presence {
    const isReachable = channels > 0 || transport === "poll";
    const isOnline = isReachable && this.#now() - heardAtMs <= this.#ttlMs;
    return {
      enforcerDeviceId: enforcerId,
      status: isOnline ? "online" : "offline",
      lastSeenAt: timeText(heardAtMs),
      transport,
      ...hello,
    };
  }
}
