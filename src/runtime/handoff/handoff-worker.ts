/**
 * Follows the remote agents that runs wait for, outside of any run. It learns of them from the log and, after a start, from
 * the records; each is followed in stretches, so that many can take turns with few connections. What fails is tried again,
 * later and later, until the hand-off's own deadline; what cannot succeed ends the step that waits.
 */

import type { Logger } from "pino";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { HarnessError, isTransient } from "../../kernel/core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../../kernel/core/events.ts";
import { traceOfStep } from "../../kernel/core/trace.ts";
import { endHandoffTurn } from "../../kernel/handoffs/end-handoff-turn.ts";
import { noteHandoff } from "../../kernel/handoffs/note-handoff.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { HandoffRecord } from "../../kernel/kinds/handoff.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { requireRemoteHandoff } from "../../kernel/personas/persona-policy.ts";
import { readSecret } from "../../kernel/vaults/read-secret.ts";
import { Periodic } from "../../periodic.ts";
import { systemCaller } from "../../policy/caller.ts";
import type { Fetch } from "../../policy/outbound.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { StoredEvent } from "../../store/port.ts";
import { backoffMs } from "../../web/backoff.ts";
import { networkUses, watchEgress } from "../run/egress.ts";
import { DueReader } from "../scheduler/due-reader.ts";
import { WorkQueue } from "../scheduler/work-queue.ts";

/** Remotes followed at once; the others take turns with them. */
const followedMax = 256;
const sweepEveryMs = 1000;
/** Every so often all records are looked at again, in case one was overlooked. */
const sweepsBeforeAll = 60;
const backoff = { firstMs: 500, mostMs: 5 * 60_000 };
/** Tries before a remote that never took the work is given up: about four minutes. */
const unansweredMax = 10;
/** Tries before a remote is left alone that should be told that nobody waits any more. */
const cancelMax = 5;
/** After a failure of our own. */
const againMs = 1000;
/** Some remotes answer only when they are done. Whoever waits has a limit of its own; this is beyond all of them. */
const answerMsMax = 15 * 60_000;

export interface FollowerOptions {
  kernel: WholeKernel;
  logger: Logger;
}

/** Returns the way to stop it. */
export function followHandoffs(options: FollowerOptions): () => Promise<void> {
  const follower = new HandoffWorker(options);
  follower.start();
  return () => follower.stop();
}

class HandoffWorker {
  readonly #kernel: WholeKernel;
  readonly #logger: Logger;
  readonly #fetch: Fetch;
  readonly #queue: WorkQueue;
  readonly #sweeper: Periodic;
  /** The records that hand-offs are followed by now. */
  readonly #seen = new Map<string, HandoffRecord>();
  readonly #due: DueReader;
  #sweeps = 0;
  #stopHearing = () => {};

  constructor({ kernel, logger }: FollowerOptions) {
    this.#kernel = kernel;
    this.#due = new DueReader({ store: kernel.store, kind: "handoff", isRetry: true });
    this.#logger = logger;
    this.#fetch = kernel.outbound.fetchWithin({ headersMs: answerMsMax });
    this.#queue = new WorkQueue({
      concurrency: followedMax,
      work: (id, news) => this.#follow(id, news),
      onError: (error, id) =>
        logger.error(
          { event: "handoff.failed", err: error, handoff_id: id },
          "A hand-off could not be followed; retrying",
        ),
      retryMs: againMs,
    });
    this.#sweeper = new Periodic({
      everyMs: sweepEveryMs,
      work: (signal) => this.#sweep(signal),
      onError: (error) =>
        logger.error({ event: "handoff.sweep_failed", err: error }, "Looking for hand-offs failed; retrying"),
    });
  }

  start(): void {
    this.#stopHearing = this.#kernel.tail.onCommit((events) => this.#hear(events));
    void this.#sweeper.start();
  }

  async stop(): Promise<void> {
    this.#stopHearing();
    await Promise.all([this.#sweeper.stop(), this.#queue.stop(0)]);
  }

  #hear(events: readonly StoredEvent[]): void {
    for (const stored of events) {
      const event = asKernelEvent(stored);
      if (stored.resource.object === "handoff" && isNews(event)) this.#interrupt(stored, event);
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    if (this.#sweeps++ % sweepsBeforeAll === 0) this.#due.restart();
    await this.#queue.refill([this.#due], this.#kernel.clock.now(), signal, async (id) => {
      if (!this.#queue.isWorkingOn(id)) this.#queue.add(id, id);
    });
  }

  /** What it was followed for is no longer what is wanted. What it knew already must not stop it: it may be sending. */
  #interrupt({ resource: { id }, tenantId }: StoredEvent, event: KernelEvent): void {
    const seen = this.#seen.get(id);
    if (seen !== undefined && isKnownTo(seen, event)) return;
    this.#queue.restart(id, tenantId);
  }

  /** True when there is more to follow at once. */
  async #follow(id: string, news: AbortSignal): Promise<boolean> {
    const handoff = await this.#read<HandoffRecord>("handoff", id);
    const task = handoff && (await this.#read<TaskRecord>("task", handoff.task_id));
    if (handoff === undefined || task === undefined || handoff.status === "ended" || news.aborted)
      return false;
    this.#seen.set(id, handoff);
    const known: Known = { handoff, task, redactor: this.#kernel.redactor };
    return await watchEgress(async () => {
      try {
        return await this.#talk(known, news);
      } catch (error) {
        if (!news.aborted) await this.#failed(known, error);
        return false;
      } finally {
        this.#seen.delete(id);
      }
    });
  }

  /** The client library is heavy; a server that hands nothing off never loads it. */
  async #talk(known: Known, news: AbortSignal): Promise<boolean> {
    const [{ connect }, { HandoffSession }] = await Promise.all([
      import("./connect.ts"),
      import("./handoff-session.ts"),
    ]);
    const { handoff, task } = known;
    const isCanceling = handoff.status === "canceling";
    if (isCanceling && handoff.remote?.task_id == null) {
      await this.#ended(known, null);
      return false;
    }
    const token = await this.#token(known);
    const connection = await connect({
      url: handoff.url,
      trust: handoff.trust,
      token,
      headers: { ...traceOfStep(this.#kernel.tracing, task, handoff.step ?? handoff.first_step) },
      fetch: this.#fetch,
      now: this.#kernel.clock.now(),
      signal: news,
      assertAllowed: (url) => requireRemoteHandoff(task, url),
    });
    const { redactor } = known;
    const following = new HandoffSession({ kernel: this.#kernel, handoff, connection, redactor, news });
    if (!isCanceling) return await following.go();
    await following.cancel();
    await this.#ended(known, null);
    return false;
  }

  /** Read whenever it is needed and kept nowhere; from here on it is taken out of everything that is written. */
  async #token(known: Known): Promise<string | null> {
    const {
      credentials,
      tenant_id: tenantId,
      workspace_id: workspaceId,
      session_id: sessionId,
    } = known.handoff;
    if (credentials === null) return null;
    const { name, vault_id } = credentials;
    const request = { tenantId, workspaceId, sessionId, name, vaultId: vault_id ?? undefined };
    const { value } = await readSecret(this.#kernel, request);
    this.#kernel.seenSecrets.add(value);
    known.redactor = this.#kernel.redactor.with([value]);
    return value;
  }

  async #failed(known: Known, error: unknown): Promise<void> {
    const { problemOf, RemoteProblem } = await import("./problems.ts");
    // It went wrong here, not there.
    if (isTransient(error)) throw error;
    const refused =
      error instanceof HarnessError ? new RemoteProblem(error.code, error.message) : problemOf(error);
    const { code, isPassing } = refused;
    const message = known.redactor.text(refused.message);
    const handoff = (await this.#read<HandoffRecord>("handoff", known.handoff.id)) ?? known.handoff;
    const attempts = handoff.attempts + 1;
    const most =
      handoff.status === "canceling" ? cancelMax : handoff.remote === null ? unansweredMax : Infinity;
    const about = { handoff_id: handoff.id, task_id: handoff.task_id, problem: message, attempts };
    if (isPassing && attempts < most) {
      this.#logger.info(
        { event: "handoff.retrying", ...about },
        "A remote agent cannot be reached; retrying",
      );
      await this.#delay(known, attempts, message);
      return;
    }
    this.#logger.warn({ event: "handoff.given_up", ...about }, "A hand-off to a remote agent failed");
    if (handoff.status === "canceling") return await this.#ended(known, message);
    await this.#endStep(known, handoff, { code, message });
  }

  async #delay(known: Known, attempts: number, problem: string): Promise<void> {
    const at = this.#kernel.clock.now() + backoffMs(backoff, attempts);
    await this.#note(known, { attempts, problem, look_at: new Date(at).toISOString() });
  }

  async #ended(known: Known, problem: string | null): Promise<void> {
    await this.#note(known, { status: "ended", outgoing: null, problem });
  }

  async #note(
    { handoff, redactor }: Known,
    changes: Parameters<typeof noteHandoff.decide>[1]["changes"],
  ): Promise<void> {
    const request = { handoffId: handoff.id, taskId: handoff.task_id, changes, redactor };
    await runCommand(this.#kernel, noteHandoff, systemCaller(handoff.tenant_id), request);
  }

  async #endStep(
    { redactor }: Known,
    { id: handoffId, task_id: taskId, tenant_id, step }: HandoffRecord,
    error: { code: string; message: string },
  ): Promise<void> {
    if (step === null) return;
    const ending = { result: { error }, isOver: true, remote: null, ...networkUses() };
    const request = { handoffId, taskId, step, redactor, ...ending };
    await runCommand(this.#kernel, endHandoffTurn, systemCaller(tenant_id), request);
  }

  async #read<R extends HandoffRecord | TaskRecord>(kind: R["object"], id: string): Promise<R | undefined> {
    return (await this.#kernel.store.get(kind, id))?.body as R | undefined;
  }
}

interface Known {
  handoff: HandoffRecord;
  task: TaskRecord;
  redactor: Redactor;
}

/** Somebody waits for the remote now, or nobody does any more. What is learnt by following is no news. */
function isNews(event: KernelEvent): boolean {
  if (event.event === "vendor.bridle.handoff.created") return true;
  if (event.event !== "vendor.bridle.handoff.updated") return false;
  const { step, status } = event.payload.changes;
  return typeof step === "string" || status === "canceling";
}

function isKnownTo(seen: HandoffRecord, event: KernelEvent): boolean {
  if (event.event !== "vendor.bridle.handoff.updated") return true;
  const { step, status } = event.payload.changes;
  return (step === undefined || step === seen.step) && (status === undefined || status === seen.status);
}
