/**
 * Looks after permission requests: hears of them in the log, sees to each as soon as it can, and again when one of its
 * exchanges has come to its end. What the gateway could not take is tried again, later and later.
 */

import type { Logger } from "pino";
import { type ApprovalSubject, type SubjectKind, subjectKindOf } from "../../kernel/approvals/subjects.ts";
import { steadyNow } from "../../kernel/core/clock.ts";
import { everyPage } from "../../kernel/core/every-page.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { exchangesWakeAt } from "../../kernel/kinds/exchange.ts";
import type { StoredEvent } from "../../store/port.ts";
import { backoffMs } from "../../web/backoff.ts";
import { DueReader } from "../scheduler/due-reader.ts";
import { ReadyQueue } from "../scheduler/ready-queue.ts";
import { receiveDecisions } from "./decisions.ts";
import { GatewayAway, tendSubject } from "./tend.ts";

/** Requests seen to at the same time. */
const concurrency = 8;
/** Requests known to need something; more than this are found again on disk. */
const readyMax = 10_000;
const sweepEveryMs = 1000;
const backoff = { firstMs: 1000, mostMs: 60_000 };

const subjectKinds = ["permission_request", "policy_change"] as const satisfies readonly SubjectKind[];

function isSubject(object: string): boolean {
  return subjectKinds.some((kind) => kind === object);
}

export interface EnforcerOptions {
  kernel: WholeKernel;
  logger: Logger;
}

/** Returns the way to stop it. */
export async function startEnforcer(options: EnforcerOptions): Promise<() => Promise<void>> {
  const enforcer = new Enforcer(options);
  await enforcer.start();
  return () => enforcer.stop();
}

class Enforcer {
  readonly #kernel: WholeKernel;
  readonly #logger: Logger;
  readonly #stopped = new AbortController();
  readonly #queue = new ReadyQueue(readyMax);
  readonly #tending = new Map<string, Promise<void>>();
  /** Of these, the ones about which something has changed since. */
  readonly #again = new Set<string>();
  /** The tenants whose decisions are listened for. */
  readonly #listening = new Map<string, Promise<void>>();
  readonly #due: Record<SubjectKind, DueReader>;
  #overflowed = false;
  #failures = 0;
  #restUntil = 0;
  #sweeping: Promise<void> | null = null;
  #stopHearing = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor({ kernel, logger }: EnforcerOptions) {
    this.#kernel = kernel;
    const due = (kind: SubjectKind) => new DueReader({ store: kernel.store, kind });
    this.#due = { permission_request: due("permission_request"), policy_change: due("policy_change") };
    this.#logger = logger;
  }

  async start(): Promise<void> {
    this.#stopHearing = this.#kernel.tail.onCommit((events) => this.#hear(events));
    const registries = everyPage(this.#kernel.store, {
      kind: "approver_registry",
    });
    for await (const page of registries) {
      for (const { tenantId } of page) {
        this.#listen(tenantId);
        // What has no exchange yet is not due before its end.
        await this.#wakePending(tenantId, "policy_change");
      }
    }
    this.#timer = setInterval(() => this.#startSweep(), sweepEveryMs);
    this.#timer.unref();
    this.#startSweep();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#stopHearing();
    clearInterval(this.#timer);
    await Promise.all([this.#sweeping, ...this.#tending.values(), ...this.#listening.values()]);
  }

  #hear(events: readonly StoredEvent[]): void {
    for (const { event, resource, tenantId } of events) {
      if (isSubject(resource.object)) this.#wake(resource.id, tenantId);
      else if (event === "vendor.bridle.approvers.changed") void this.#approversChanged(tenantId);
    }
  }

  /** Everybody who waits in this tenant may have others to ask now. */
  async #approversChanged(tenantId: string): Promise<void> {
    this.#listen(tenantId);
    try {
      for (const kind of subjectKinds) await this.#wakePending(tenantId, kind);
    } catch (error) {
      this.#logger.error({ err: error }, "looking for requests to put to new approvers failed");
    }
  }

  async #wakePending(tenantId: string, kind: SubjectKind): Promise<void> {
    const pending = everyPage(this.#kernel.store.of(tenantId), { kind, statuses: ["pending"] });
    for await (const page of pending) for (const { id } of page) this.#wake(id, tenantId);
  }

  #listen(tenantId: string): void {
    const link = this.#kernel.approvals.linkOf(tenantId);
    if (link === null || this.#listening.has(tenantId) || this.#stopped.signal.aborted) return;
    const { signal } = this.#stopped;
    const onConnected = () => this.#comeBack();
    const parts = { kernel: this.#kernel, logger: this.#logger, tenantId, link, signal, onConnected };
    this.#listening.set(tenantId, receiveDecisions(parts));
  }

  #wake(id: string, tenantId: string): void {
    if (this.#stopped.signal.aborted) return;
    if (this.#tending.has(id)) this.#again.add(id);
    else if (!this.#queue.add(id, tenantId)) this.#overflowed = true;
    this.#dispatch();
  }

  #dispatch(): void {
    const isResting = this.#isResting;
    while (!isResting && this.#tending.size < concurrency && !this.#stopped.signal.aborted) {
      const id = this.#queue.next();
      if (id === undefined) return;
      this.#tending.set(id, this.#tend(id));
    }
  }

  async #tend(id: string): Promise<void> {
    // The turn must be known to all before it can end.
    await null;
    let tenantId = "";
    try {
      const document = await this.#kernel.store.get(subjectKindOf(id), id);
      const subject = document?.body as ApprovalSubject | undefined;
      if (subject === undefined || exchangesWakeAt(subject) === null) return;
      tenantId = subject.tenant_id;
      await tendSubject(this.#kernel, this.#kernel.approvals.linkOf(tenantId), subject);
      this.#failures = 0;
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#tending.delete(id);
      if (this.#again.delete(id)) this.#wake(id, tenantId);
      this.#dispatch();
    }
  }

  /** All requests wait together for the gateway, and are found again on disk when it is time. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#restUntil = steadyNow(this.#kernel.clock) + backoffMs(backoff, this.#failures);
    this.#overflowed = true;
    const problem = "an approval could not be put to approvers; trying again";
    if (error instanceof GatewayAway) this.#logger.warn({ err: error }, problem);
    else this.#logger.error({ err: error }, problem);
  }

  get #isResting(): boolean {
    return steadyNow(this.#kernel.clock) < this.#restUntil;
  }

  #comeBack(): void {
    this.#restUntil = 0;
    this.#overflowed = true;
    this.#startSweep();
  }

  async #wakeDue(kind: SubjectKind): Promise<void> {
    if (this.#overflowed || this.#stopped.signal.aborted) return;
    for await (const id of this.#due[kind].read(this.#kernel.clock.now())) {
      this.#wake(id, id);
      if (this.#overflowed || this.#stopped.signal.aborted) return;
    }
  }

  #startSweep(): void {
    if (this.#stopped.signal.aborted) return;
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null;
    });
  }

  /** Takes up what has become due since the last look; everything that needs something, the first time and after a failure. */
  async #sweep(): Promise<void> {
    try {
      if (this.#isResting) return;
      if (this.#overflowed && this.#queue.size === 0) {
        this.#overflowed = false;
        for (const kind of subjectKinds) this.#due[kind].restart();
      }
      for (const kind of subjectKinds) await this.#wakeDue(kind);
      this.#dispatch();
    } catch (error) {
      this.#logger.error({ err: error }, "looking for approvals to see to failed; trying again");
    }
  }
}
