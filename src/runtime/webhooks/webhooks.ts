/**
 * Tells webhooks what happens to tasks. It learns of it from the log and from the clock, tells each webhook everything in
 * order, one after the other, and holds up neither tasks nor other webhooks.
 *
 * Invariants
 *   H1  A config is told of an event only after all events before it were taken by its receiver.
 *   H2  What was taken is recorded afterwards: a process that dies in between tells it again, and never skips it.
 *   H3  Nothing is sent any more once the commit that deletes a config is acknowledged.
 *   H4  Nothing is sent any more once the key that registered a config, or one that made that key, has ended.
 */

import type { Logger } from "pino";
import { usableKey } from "../../kernel/access/client-keys.ts";
import { timestamp } from "../../kernel/core/clock.ts";
import {
  asRecorded,
  eventId,
  type KernelEvent,
  positionOf,
  type RecordedEvent,
  terminalEvents,
} from "../../kernel/core/events.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { PushConfigRecord, PushDelivered } from "../../kernel/kinds/push-config.ts";
import { openPushConfig } from "../../kernel/push/push-configs.ts";
import { type PushReport, reportPush } from "../../kernel/push/report-push.ts";
import { Periodic } from "../../periodic.ts";
import { nextSlice } from "../../slices.ts";
import { failPoint } from "../../store/fail-point.ts";
import type { Position, StoredEvent } from "../../store/port.ts";
import { backoffMs } from "../../web/backoff.ts";
import { DueReader } from "../scheduler/due-reader.ts";
import { WorkQueue } from "../scheduler/work-queue.ts";
import { type Failure, post } from "./post.ts";
import type { WebhookBackoff } from "./retry-settings.ts";

/** What an event has to say to a webhook: nothing, or the bodies of one or more notifications. */
export type Narrate = (event: RecordedEvent) => Promise<object[]>;

/** For a webhook that was told everything up to a position: it is given every event after it, in order. */
export type OpenNarrative = (config: PushConfigRecord, after: Position) => Promise<Narrate>;

export interface WebhooksOptions {
  kernel: WholeKernel;
  logger: Logger;
  /** Where clients find this server. */
  publicUrl(): string;
  narrative: OpenNarrative;
  backoff: WebhookBackoff;
}

/** Webhooks that are told something at the same time. */
const concurrency = 32;
const sweepEveryMs = 250;
/** Of one webhook's events, before it is the turn of others. */
const eventsAtOnce = 100;
/** While one notification follows the other, what was taken is recorded this often. */
const reportEveryMs = 1000;
/** Narratives that are kept for the next event, each with what its task said; others begin again from the log. */
const narrativesMax = 64;
/** After a fault that is not the receiver's: the store takes no writes, a key is missing. */
const retryFaultMs = 5000;
/** How long notifications under way may take to end when the server stops. */
const stopMsMax = 1000;

/** A webhook is told no more than its key could read. */
const keyEnded: Failure = {
  problem: "the API key that registered it has expired or was revoked",
  isGone: true,
  retryAfterMs: null,
};

/** Returns the way to stop it. */
export async function startWebhooks(options: WebhooksOptions): Promise<() => Promise<void>> {
  const webhooks = new Webhooks(options);
  await webhooks.start();
  return () => webhooks.stop();
}

interface Narrative {
  /** The last event that it was given. */
  through: Position;
  narrate: Narrate;
}

type Known = Pick<PushConfigRecord, "id" | "task_id">;

class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #backoff: WebhookBackoff;
  /** The active configs of a task, by its id. */
  readonly #byTask = new Map<string, Set<string>>();
  readonly #queue: WorkQueue;
  readonly #sweeper: Periodic;
  /** Where telling stopped, for configs that were told all there was. */
  readonly #narratives = new Map<string, Narrative>();
  readonly #due: DueReader;
  #stopFollowing = () => {};

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#due = new DueReader({ store: options.kernel.store, kind: "push_config", isRetry: true });
    this.#backoff = options.backoff;
    const { logger } = options;
    this.#queue = new WorkQueue({
      concurrency,
      work: (id, signal) => this.#takeTurn(id, signal),
      onError: (error, id) =>
        logger.error(
          { event: "webhook.failed", err: error, push_config: id },
          "A webhook could not be called; retrying",
        ),
      retryMs: retryFaultMs,
    });
    this.#sweeper = new Periodic({
      everyMs: sweepEveryMs,
      work: (signal) => this.#sweep(signal),
      onError: (error) =>
        logger.error(
          { event: "webhook.sweep_failed", err: error },
          "Looking for due webhooks failed; retrying",
        ),
    });
  }

  async start(): Promise<void> {
    this.#stopFollowing = this.#options.kernel.tail.onCommit((events) => this.#hear(events));
    await this.#sweeper.start();
  }

  async stop(): Promise<void> {
    this.#stopFollowing();
    await Promise.all([this.#sweeper.stop(), this.#queue.stop(stopMsMax)]);
  }

  #hear(events: readonly StoredEvent[]): void {
    for (const event of events.map(asRecorded)) {
      if (event.resource.object === "push_config") this.#onConfig(event);
      else if (event.taskId !== null) {
        for (const id of this.#byTask.get(event.taskId) ?? []) this.#queue.add(id, event.tenantId);
      }
    }
  }

  #onConfig(event: KernelEvent): void {
    const { id } = event.resource;
    switch (event.event) {
      case "vendor.bridle.push_config.created":
      case "vendor.bridle.push_config.replaced":
        this.#queue.interrupt(id);
        this.#forget(event.payload.push_config);
        if (event.payload.push_config.state !== "active") break;
        this.#know(event.payload.push_config);
        this.#queue.add(id, event.tenantId);
        break;
      case "vendor.bridle.push_config.deleted":
        this.#queue.interrupt(id);
        if (event.taskId !== null) this.#forget({ id, task_id: event.taskId });
        break;
    }
  }

  #know({ id, task_id }: Known): void {
    this.#byTask.set(task_id, (this.#byTask.get(task_id) ?? new Set()).add(id));
  }

  #forget({ id, task_id }: Known): void {
    this.#narratives.delete(id);
    const ids = this.#byTask.get(task_id);
    ids?.delete(id);
    if (ids?.size === 0) this.#byTask.delete(task_id);
  }

  async #takeTurn(id: string, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#options.kernel;
    const config = (await store.get("push_config", id))?.body as PushConfigRecord | undefined;
    if (config === undefined) return false;
    if (config.state !== "active" || config.deleted_at !== null) {
      this.#forget(config);
      return false;
    }
    return isDue(config, clock.now(), this.#backoff) && (await this.#tell(config, signal));
  }

  /** Tells what the log has beyond what was told. True when it is to be asked again at once. */
  async #tell(config: PushConfigRecord, signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#options.kernel;
    this.#know(config);
    const { id, task_id: taskId } = config;
    const { through: from, narrate } = await this.#takeNarrative(config);
    await nextSlice();
    const events = await store.of(config.tenant_id).events({ taskId, after: from, limit: eventsAtOnce });
    const progress = new Progress(from, clock.now());
    try {
      for (const event of events.map(asRecorded)) {
        const failure = await this.#tellAll(config, await narrate(event), progress, signal);
        if (failure !== null) return await this.#failed(config, progress, failure);
        const isLast = terminalEvents.has(event.event) && event.resource.id === taskId;
        progress.passed(event.position);
        if (isLast || progress.isWorthRecording(clock.now())) await this.#record(config, progress, isLast);
        if (isLast) return false;
      }
    } finally {
      // Also when the server stops, or something is wrong with the event after these.
      if (progress.isWorthRecording(Number.POSITIVE_INFINITY)) await this.#record(config, progress, false);
    }
    this.#keepNarrative(id, { through: progress.through, narrate });
    return events.length === eventsAtOnce;
  }

  async #record(config: PushConfigRecord, progress: Progress, isLast: boolean): Promise<void> {
    await this.#report(config, {
      outcome: "delivered",
      payload: progress.take(isLast, this.#options.kernel.clock.now()),
    });
  }

  /** One that was left in the middle of an event is not there: it begins again where the config was told last. */
  async #takeNarrative(config: PushConfigRecord): Promise<Narrative> {
    const kept = this.#narratives.get(config.id);
    this.#narratives.delete(config.id);
    if (kept !== undefined) return kept;
    const through = positionOf(config.delivered_through_event_id, "delivered_through_event_id");
    return { through, narrate: await this.#options.narrative(config, through) };
  }

  #keepNarrative(id: string, narrative: Narrative): void {
    const [oldest] = this.#narratives.keys();
    if (oldest !== undefined && this.#narratives.size >= narrativesMax) this.#narratives.delete(oldest);
    this.#narratives.set(id, narrative);
  }

  async #tellAll(
    config: PushConfigRecord,
    bodies: readonly object[],
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Failure | null> {
    const { kernel } = this.#options;
    for (const body of bodies) {
      // Deleted or replaced meanwhile (H3).
      signal.throwIfAborted();
      if (!(await this.#isOwned(config))) return keyEnded;
      const secrets = openPushConfig(kernel, config);
      if (secrets === null) throw new Error(`${config.id} is active and has no secrets`);
      const failure = await post({
        kernel,
        publicUrl: this.#options.publicUrl(),
        config,
        secrets,
        body,
        signal,
      });
      if (failure !== null) return failure;
      failPoint("webhook.taken");
      progress.count += 1;
    }
    return null;
  }

  /** Whether the key that registered it, and those that made that key, are still good. */
  async #isOwned({ created_by_key_id: keyId }: PushConfigRecord): Promise<boolean> {
    const { store, clock } = this.#options.kernel;
    return keyId === undefined || (await usableKey(store, keyId, clock.now())) !== null;
  }

  async #failed(config: PushConfigRecord, progress: Progress, failure: Failure): Promise<boolean> {
    const { clock } = this.#options.kernel;
    const attempts = progress.hasMoved ? 1 : config.attempts + 1;
    const { is_last: _, ...told } = progress.take(false, clock.now());
    const { problem, isGone, retryAfterMs } = failure;
    if (isGone || attempts >= this.#backoff.attemptsMax) {
      await this.#report(config, { outcome: "gave_up", payload: { ...told, attempts, problem } });
      return false;
    }
    // What the receiver asks for is heard within the cap.
    const asked = Math.min(retryAfterMs ?? 0, this.#backoff.mostMs);
    const at = clock.now() + Math.max(backoffMs(this.#backoff, attempts), asked);
    const payload = { ...told, attempts, next_attempt_at: timestamp(at), problem };
    await this.#report(config, { outcome: "attempt_failed", payload });
    // The clock may have passed it before it was on disk for the sweep to find.
    return this.#due.hasPassed(at, clock.now());
  }

  /** Nothing is recorded about a config that was deleted or replaced meanwhile: the signal says so too. */
  async #report(config: PushConfigRecord, report: PushReport): Promise<void> {
    const after = await reportPush(this.#options.kernel, config, report);
    if (after !== null && after.state !== "active") this.#forget(config);
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.kernel;
    await this.#queue.refill([this.#due], clock.now(), signal, (id) => this.#wakeDue(id));
  }

  async #wakeDue(id: string): Promise<void> {
    const document = await this.#options.kernel.store.get("push_config", id);
    const config = document?.body as PushConfigRecord | undefined;
    if (config === undefined || config.state !== "active" || config.deleted_at !== null) return;
    this.#know(config);
    this.#queue.add(id, config.tenant_id);
  }
}

/** No wait is longer than the cap: a later time was chosen by a clock that was ahead. */
function isDue({ next_attempt_at }: PushConfigRecord, nowMs: number, { mostMs }: WebhookBackoff): boolean {
  const waitMs = next_attempt_at === null ? 0 : Date.parse(next_attempt_at) - nowMs;
  return waitMs <= 0 || waitMs > mostMs;
}

/** How far one turn has come since it was recorded last. */
class Progress {
  through: Position;
  /** Notifications that were taken and are not recorded yet. */
  count = 0;
  /** Whether an event was told to its end since the turn began. */
  hasMoved = false;
  #recordedAt: number;

  constructor(through: Position, nowMs: number) {
    this.through = through;
    this.#recordedAt = nowMs;
  }

  passed(position: Position): void {
    this.through = position;
    if (this.count > 0) this.hasMoved = true;
  }

  /** If there is something to say and it was not just said. */
  isWorthRecording(nowMs: number): boolean {
    return this.count > 0 && this.hasMoved && nowMs - this.#recordedAt >= reportEveryMs;
  }

  take(isLast: boolean, nowMs: number): PushDelivered {
    const { through, count } = this;
    this.count = 0;
    this.#recordedAt = nowMs;
    return { through_event_id: eventId(through), count, is_last: isLast };
  }
}
