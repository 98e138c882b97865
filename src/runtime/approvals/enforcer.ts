/**
 * Looks after permission requests: hears of them in the log, sees to each as soon as it can, and again when one of its
 * exchanges has come to its end. What the gateway could not take is tried again, later and later.
 */

import type { Logger } from "pino";
import { type ApprovalSubject, type SubjectKind, subjectKindOf } from "../../kernel/approvals/subjects.ts";
import { steadyNow } from "../../kernel/core/clock.ts";
import { paginate } from "../../kernel/core/paginate.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { exchangesWakeAt } from "../../kernel/kinds/exchange.ts";
import { Periodic } from "../../periodic.ts";
import type { StoredEvent } from "../../store/port.ts";
import { backoffMs } from "../../web/backoff.ts";
import { DueReader } from "../scheduler/due-reader.ts";
import { WorkQueue } from "../scheduler/work-queue.ts";
import { receiveDecisions } from "./decisions.ts";
import { deliverRequests, GatewayAway } from "./deliver.ts";

/** Requests seen to at the same time. */
const concurrency = 8;
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
  readonly #queue: WorkQueue;
  readonly #sweeper: Periodic;
  /** The tenants whose decisions are listened for. */
  readonly #listening = new Map<string, Promise<void>>();
  readonly #due: readonly DueReader[];
  #failures = 0;
  #restUntil = 0;
  #stopHearing = () => {};

  constructor({ kernel, logger }: EnforcerOptions) {
    this.#kernel = kernel;
    this.#due = subjectKinds.map((kind) => new DueReader({ store: kernel.store, kind }));
    this.#logger = logger;
    this.#queue = new WorkQueue({
      concurrency,
      work: (id) => this.#deliver(id),
      onError: (error) => this.#failed(error),
      isResting: () => this.#isResting,
    });
    this.#sweeper = new Periodic({
      everyMs: sweepEveryMs,
      work: (signal) => this.#sweep(signal),
      onError: (error) =>
        logger.error(
          { event: "approval.sweep_failed", err: error },
          "Looking for open approvals failed; retrying",
        ),
    });
  }

  async start(): Promise<void> {
    this.#stopHearing = this.#kernel.tail.onCommit((events) => this.#hear(events));
    const registries = paginate(this.#kernel.store, {
      kind: "approver_registry",
    });
    for await (const page of registries) {
      for (const { tenantId } of page) {
        this.#listen(tenantId);
        // What has no exchange yet is not due before its end.
        await this.#wakePending(tenantId, "policy_change");
      }
    }
    void this.#sweeper.start();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#stopHearing();
    await Promise.all([this.#sweeper.stop(), this.#queue.stop(), ...this.#listening.values()]);
  }

  #hear(events: readonly StoredEvent[]): void {
    for (const { event, resource, tenantId } of events) {
      if (isSubject(resource.object)) this.#queue.add(resource.id, tenantId);
      else if (event === "vendor.bridle.approvers.changed") void this.#approversChanged(tenantId);
    }
  }

  /** Everybody who waits in this tenant may have others to ask now. */
  async #approversChanged(tenantId: string): Promise<void> {
    this.#listen(tenantId);
    try {
      for (const kind of subjectKinds) await this.#wakePending(tenantId, kind);
    } catch (error) {
      this.#logger.error(
        { event: "approval.new_approvers_failed", err: error },
        "Looking for approvals to send to new approvers failed",
      );
    }
  }

  async #wakePending(tenantId: string, kind: SubjectKind): Promise<void> {
    const pending = paginate(this.#kernel.store.of(tenantId), { kind, statuses: ["pending"] });
    for await (const page of pending) for (const { id } of page) this.#queue.add(id, tenantId);
  }

  #listen(tenantId: string): void {
    const link = this.#kernel.approvals.linkOf(tenantId);
    if (link === null || this.#listening.has(tenantId) || this.#stopped.signal.aborted) return;
    const { signal } = this.#stopped;
    const onConnected = () => this.#comeBack();
    const parts = { kernel: this.#kernel, logger: this.#logger, tenantId, link, signal, onConnected };
    this.#listening.set(tenantId, receiveDecisions(parts));
  }

  async #deliver(id: string): Promise<boolean> {
    const document = await this.#kernel.store.get(subjectKindOf(id), id);
    const subject = document?.body as ApprovalSubject | undefined;
    if (subject === undefined || exchangesWakeAt(subject) === null) return false;
    await deliverRequests(this.#kernel, this.#kernel.approvals.linkOf(subject.tenant_id), subject);
    this.#failures = 0;
    return false;
  }

  /** All requests wait together for the gateway, and are found again on disk when it is time. */
  #failed(error: unknown): void {
    this.#failures += 1;
    this.#restUntil = steadyNow(this.#kernel.clock) + backoffMs(backoff, this.#failures);
    this.#queue.lookAgain();
    const about = { event: "approval.not_sent", err: error };
    const problem = "An approval could not be sent to approvers; retrying";
    if (error instanceof GatewayAway) this.#logger.warn(about, problem);
    else this.#logger.error(about, problem);
  }

  get #isResting(): boolean {
    return steadyNow(this.#kernel.clock) < this.#restUntil;
  }

  #comeBack(): void {
    this.#restUntil = 0;
    this.#queue.lookAgain();
    void this.#sweeper.now();
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    if (this.#isResting) return;
    await this.#queue.refill(this.#due, this.#kernel.clock.now(), signal, async (id) =>
      this.#queue.add(id, id),
    );
  }
}
