/**
 * Which enforcers were heard of, and when: in memory, informational, and never a reason for anything. A decision is
 * delivered the same whatever is said here.
 */

import type { Hello, Presence } from "../core/wire.ts";
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
  hello: Partial<Omit<Hello, "msgType">> | null;
}

/** What an enforcer is called by people. */
export type Labels = Partial<Pick<Hello, "workspaceName" | "enforcerLabel">>;

export interface PresenceDeps {
  now(): number;
  /** How long somebody is online after the last that was heard of it. */
  ttlMs: number;
  /** Whether a channel of this enforcer is open now. */
  isConnected(enforcer: Mailbox): boolean;
}

export class PresenceBook {
  readonly #heard = new Map<string, Heard>();
  readonly #deps: PresenceDeps;

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
  }

  /** An enforcer called; with a channel open, that is not how it is reached. */
  called(enforcer: Mailbox): void {
    const before = this.#heard.get(ownerId(enforcer));
    const isConnected = this.#deps.isConnected(enforcer);
    this.#note(enforcer, isConnected ? (before?.transport ?? "websocket") : "poll");
  }

  /** A channel was opened, or something came over it, if only an answer to a ping. */
  alive(enforcer: Mailbox, transport: "websocket" | "sse"): void {
    this.#note(enforcer, transport);
  }

  introduced(
    enforcer: Mailbox,
    { capabilities, workspaceName, enforcerLabel }: Partial<Omit<Hello, "msgType">>,
  ): void {
    const heard = this.#heard.get(ownerId(enforcer));
    if (heard === undefined) return;
    heard.hello = {
      ...heard.hello,
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(workspaceName === undefined ? {} : { workspaceName }),
      ...(enforcerLabel === undefined ? {} : { enforcerLabel }),
    };
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

  #note(enforcer: Mailbox, transport: Presence["transport"]): void {
    const key = ownerId(enforcer);
    const heard: Heard = this.#heard.get(key) ?? {
      tenantId: enforcer.tenantId,
      enforcerId: enforcer.id,
      heardAtMs: 0,
      transport,
      hello: null,
    };
    heard.heardAtMs = this.#deps.now();
    heard.transport = transport;
    // Put at the end again: the first in the map is the one that was heard of longest ago.
    this.#heard.delete(key);
    this.#heard.set(key, heard);
    const [oldest] = this.#heard.keys();
    if (this.#heard.size > enforcersMax && oldest !== undefined) this.#heard.delete(oldest);
  }

  /** Online is who has a channel that was heard of lately, or calls from time to time. */
  #present({ tenantId, enforcerId, heardAtMs, transport, hello }: Heard): Presence {
    const { now, ttlMs, isConnected } = this.#deps;
    const isReachable = transport === "poll" || isConnected({ tenantId, role: "enforcer", id: enforcerId });
    const isOnline = isReachable && now() - heardAtMs <= ttlMs;
    return {
      enforcerDeviceId: enforcerId,
      status: isOnline ? "online" : "offline",
      lastSeenAt: timeText(heardAtMs),
      transport,
      ...hello,
    };
  }
}
