/**
 * Channels: connections over which enforcers and approvers are told of what waits for them, whatever the transport.
 *
 * A channel holds no queue of what is durable. It remembers how far in the inbox it has told, goes on from there when it is
 * nudged, and waits for its reader between messages; a reader that is slow is behind in the inbox, not in our memory. What
 * was not acknowledged is told again: all of it when a channel opens, then after a while, and then after twice as long.
 *
 *   G1  Decisions go over one channel of an enforcer at a time, the one that connected last. When that is gone, the one
 *       before it tells everything that was not acknowledged.
 *   G2  Approval requests go over all channels of each approver.
 */

import type { ApprovalRequest, DecisionDeliver, ExchangeWithdrawn, RefreshRequest } from "../core/wire.ts";
import type { Gateway } from "./gateway.ts";
import { entriesIn, messageOf, type Place } from "./inboxes.ts";
import type { Mailbox } from "./principal.ts";
import { ownerId } from "./records/exchange.ts";
import { isDueAgain } from "./redelivery.ts";
import { refusal } from "./refusals.ts";

export type Told = ApprovalRequest | DecisionDeliver;
export type Hint = ExchangeWithdrawn | RefreshRequest;

/** Where a channel leads to. */
export interface Outlet {
  transport: "websocket" | "sse";
  /** Resolves when there is room for more. */
  send(message: Told | Hint): Promise<void>;
  /** The gateway is done with it, or it with us: something went wrong that is logged. */
  end(): void;
  /** Whether it shows signs of life by being there, as what is in the same process does. */
  isAlwaysAlive?: boolean;
}

const pageSize = 50;
/** Hints that wait for a slow reader. They say nothing that an inbox would not, so more of them are dropped. */
const hintsMax = 100;
/** Channels of one enforcer or approver; somebody who opens more does not close them. */
const channelsMaxEach = 32;
const channelsMax = 20_000;

export class Channel {
  readonly mailbox: Mailbox;
  readonly #gateway: Gateway;
  readonly #outlet: Outlet;
  readonly #hints: Hint[] = [];
  /** Everything up to here was told over this channel. */
  #reach: Place | null = null;
  /** When everything that waited from before had been told; null until then. */
  #caughtUpAtMs: number | null = null;
  #lookedAtMs: number;
  #isToStartOver = false;
  #isDueToLook = false;
  #isTelling = false;
  #isNudged = false;
  #isOpen = true;

  constructor(gateway: Gateway, mailbox: Mailbox, outlet: Outlet) {
    this.#gateway = gateway;
    this.mailbox = mailbox;
    this.#outlet = outlet;
    this.#lookedAtMs = gateway.deps.now();
  }

  get transport(): Outlet["transport"] {
    return this.#outlet.transport;
  }

  get isAlwaysAlive(): boolean {
    return this.#outlet.isAlwaysAlive === true;
  }

  /** Something new may be in the inbox. */
  nudge(): void {
    this.#isNudged = true;
    if (this.#isOpen && !this.#isTelling) void this.#tell();
  }

  /** Tells all that was not acknowledged, from the beginning. */
  startOver(): void {
    this.#isToStartOver = true;
    this.nudge();
  }

  /** Looks whether something has to be told again. */
  lookAgain(): void {
    const { now, settings } = this.#gateway.deps;
    // Also when the clock was put back.
    if (Math.abs(now() - this.#lookedAtMs) < settings.redeliverMs) return;
    this.#isDueToLook = true;
    this.nudge();
  }

  /** Says something that is in no inbox; false when there is no room for it. */
  hint(hint: Hint): boolean {
    if (!this.#isOpen || this.#hints.length >= hintsMax) return false;
    this.#hints.push(hint);
    this.nudge();
    return true;
  }

  /** Nothing more goes over it. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#gateway.channels.left(this);
    this.#outlet.end();
  }

  async #tell(): Promise<void> {
    this.#isTelling = true;
    try {
      while (this.#isNudged && this.#isOpen) {
        this.#isNudged = false;
        if (this.#isToStartOver) this.#forgetReach();
        await this.#tellNew();
        for (let hint = this.#hints.shift(); hint !== undefined; hint = this.#hints.shift()) {
          await this.#outlet.send(hint);
        }
        if (this.#isDueToLook) await this.#tellAgain();
      }
    } catch (error) {
      // Whoever is at the other end connects again and is told everything that waits.
      this.#gateway.deps.logger.error(
        { event: "gateway.channel_failed", err: error },
        "A channel of the gateway failed",
      );
      this.close();
    } finally {
      this.#isTelling = false;
    }
  }

  #forgetReach(): void {
    this.#isToStartOver = false;
    this.#reach = null;
    this.#caughtUpAtMs = null;
  }

  async #tellNew(): Promise<void> {
    while (this.#mayTell()) {
      const entries = await entriesIn(this.#gateway, this.mailbox, ["unacked"], this.#reach, pageSize);
      for (const entry of entries) {
        if (!(await this.#tellEntry(entry))) return;
        this.#reach = { born: entry.born, id: entry.id };
      }
      if (entries.length < pageSize) break;
    }
    this.#caughtUpAtMs ??= this.#gateway.deps.now();
  }

  /** Of what was told and not acknowledged, that which is due by now. */
  async #tellAgain(): Promise<void> {
    const { now, settings } = this.#gateway.deps;
    const [sinceMs, nowMs] = [this.#lookedAtMs, now()];
    this.#isDueToLook = false;
    this.#lookedAtMs = nowMs;
    const through = this.#reach;
    let place: Place | null = null;
    while (through !== null && this.#mayTell()) {
      const entries = await entriesIn(this.#gateway, this.mailbox, ["unacked"], place, pageSize);
      for (const entry of entries) {
        if (entry.born > through.born) return;
        const firstToldMs = Math.max(entry.createdAtMs, this.#caughtUpAtMs ?? nowMs);
        const isDue = isDueAgain(firstToldMs, { sinceMs, nowMs }, settings);
        if (isDue && !(await this.#tellEntry(entry))) return;
        place = { born: entry.born, id: entry.id };
      }
      if (entries.length < pageSize) return;
      // A long inbox is looked through in pieces; others want to do something too.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** False when this is not the channel to tell it over any more. */
  async #tellEntry(entry: Parameters<typeof messageOf>[2]): Promise<boolean> {
    const isOver = this.mailbox.role === "approver" && this.#gateway.deps.now() > entry.expiresAtMs;
    const message = isOver ? null : await messageOf(this.#gateway, this.mailbox, entry);
    if (!this.#mayTell()) return false;
    if (message?.isWaiting === true) await this.#outlet.send(message.envelope);
    return true;
  }

  /** G1. */
  #mayTell(): boolean {
    if (!this.#isOpen) return false;
    return this.mailbox.role === "approver" || this.#gateway.channels.primary(this.mailbox) === this;
  }
}

/** The channels that are open now. */
export class Channels {
  readonly #gateway: Gateway;
  /** Of each mailbox, in the order in which they connected. */
  readonly #open = new Map<string, readonly Channel[]>();
  #count = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** From here on it is told what waits, from the oldest that was not acknowledged. */
  connect(mailbox: Mailbox, outlet: Outlet): Channel {
    this.requireRoom(mailbox);
    const channel = new Channel(this.#gateway, mailbox, outlet);
    this.#open.set(ownerId(mailbox), [...this.of(mailbox), channel]);
    this.#count += 1;
    if (mailbox.role === "enforcer") this.#gateway.presence.alive(mailbox, outlet.transport);
    channel.startOver();
    return channel;
  }

  requireRoom(mailbox: Mailbox): void {
    if (this.of(mailbox).length < channelsMaxEach && this.#count < channelsMax) return;
    throw refusal("RateLimited", "Too many channels are open already. Close some.");
  }

  of(mailbox: Mailbox): readonly Channel[] {
    return this.#open.get(ownerId(mailbox)) ?? [];
  }

  /** The one that decisions go over now: the one that connected last. */
  primary(mailbox: Mailbox): Channel | null {
    return this.of(mailbox).at(-1) ?? null;
  }

  nudge(mailbox: Mailbox): void {
    for (const channel of this.of(mailbox)) channel.nudge();
  }

  /** Time has passed. */
  tick(): void {
    for (const channel of this.#all()) {
      if (channel.isAlwaysAlive) this.#gateway.presence.alive(channel.mailbox, channel.transport);
      channel.lookAgain();
    }
  }

  left(channel: Channel): void {
    const { mailbox } = channel;
    const wasPrimary = this.primary(mailbox) === channel;
    const others = this.of(mailbox).filter((other) => other !== channel);
    if (others.length === 0) this.#open.delete(ownerId(mailbox));
    else this.#open.set(ownerId(mailbox), others);
    this.#count -= 1;
    if (mailbox.role === "enforcer" && wasPrimary) others.at(-1)?.startOver();
  }

  closeAll(): void {
    for (const channel of this.#all()) channel.close();
  }

  #all(): Channel[] {
    return [...this.#open.values()].flat();
  }
}
