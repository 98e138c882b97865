/**
 * The one way a command is carried out: scope, idempotency, decision, commit, and another try when somebody else
 * changed what the decision rested on.
 */

import type { Caller, Scope } from "../../policy/caller.ts";
import { SearchBudget } from "../../policy/redact/search-budget.ts";
import { hashOf } from "../../receipts/canonical.ts";
import { pauseIfLate } from "../../slices.ts";
import {
  type Batch,
  OnceConflict,
  OutcomeUnknown,
  type Position,
  StoreUnavailable,
  VersionConflict,
} from "../../store/port.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { requireScope } from "../access/authorize.ts";
import { type AuditFacts, recordAudit } from "../audit/record.ts";
import { requireRoom } from "../quotas/room.ts";
import { sha256Hex } from "./content.ts";
import { decided } from "./decided.ts";
import { cannotWrite, HarnessError, outcomeUnknown } from "./errors.ts";
import { Loaded } from "./loaded.ts";
import { OutOfTurn } from "./locks.ts";
import type { KernelDeps, RecordKey, Unit } from "./unit.ts";
import { hashWellFormed } from "./well-formed.ts";

/** A document contended by more writers than this at once answers `conflict` instead of trying for ever. */
const triesMax = 50;
/** The protocol asks for at least 24 hours. */
const onceKeptMs = 24 * 60 * 60 * 1000;

export interface Command<Request, Result> {
  name: string;
  scope: Scope;
  /**
   * Checks, and emits through the unit. It is synchronous and changes nothing else: where the unit lacks something it is left, and runs
   * again from the start when that is loaded, or with fresh data after a conflict.
   */
  decide(unit: Unit, request: Request): Result;
  /** The records that the request itself names, so that they are read at once before the first decision. It saves rounds, no more. */
  needs?(request: Request): readonly RecordKey[];
  /**
   * What the audit log says of it, in the same commit; null for nothing. Asked only when the command recorded something. Ids and names,
   * never content or secrets.
   */
  audit?(request: Request, result: Result, unit: Unit): AuditFacts | null;
  /** How often it is decided anew when somebody else was first, where that is not likely to help. */
  triesMax?: number;
  /** What is said after so many tries, where writers at the same time are not what it is about. */
  gaveUp?: string;
  /** Whether it is also done while the disk is short of space: it frees some, ends something, or records what has happened. */
  isAllowedWithoutRoom?: true | ((request: Request) => boolean);
  /** Whether it may build on commits that are still on their way to the disk. Its result must not be shown then. */
  isAhead?: boolean;
  /** What is left to do once it is on disk, about things that could slip in until then. */
  afterwards?(deps: KernelDeps, caller: Caller, result: Result, request: Request): Promise<void>;
  /** What is left to do when it was refused; the caller hears of the refusal all the same. */
  refused?(deps: KernelDeps, caller: Caller, refusal: HarnessError, request: Request): Promise<void>;
  /**
   * Whether a repeated request is recognized by its commit, and not looked for before: one read less for a new one. Only for decisions
   * without any effect beside their events.
   */
  isRecognizedByCommit?: true;
  /** What of the result may be kept for repeated requests, when not all of it may touch the disk. */
  forRecord?(result: Result): Result;
  /** How long a repeated request is recognized, when that is not the usual day. */
  keptMs?(result: Result): number;
  /** How equal requests are recognized when of their bodies not even a hash may touch the disk. */
  fingerprint?(deps: KernelDeps, canonical: string): string;
}

/** How a caller marks a request that it may send again. `target` says what is being asked of what. */
export interface Idempotency {
  key: string;
  target: string;
  body: unknown;
}

export interface Answer<Result> {
  result: Result;
  /** True when this is the answer of an earlier, equal request. */
  replayed: boolean;
  /** The last event that it was recorded with; null when nothing had to be recorded. */
  position: Position | null;
}

export type Dispatch = <Request, Result>(
  command: Command<Request, Result>,
  caller: Caller,
  request: Request,
  idempotency?: Idempotency | undefined,
) => Promise<Answer<Result>>;

export function createDispatch(deps: KernelDeps): Dispatch {
  /** Requests under way by idempotency key: a duplicate waits for the first and gets its answer. */
  const underWay = new Map<string, Promise<unknown>>();

  return async function dispatch(command, caller, request, idempotency) {
    requireScope(caller, command.scope);
    if (idempotency === undefined) {
      return { ...(await performWithRoom(deps, command, caller, request)), replayed: false };
    }
    const key = sha256Hex(JSON.stringify([...callerParts(caller), idempotency.target, idempotency.key]));
    const fingerprint =
      command.fingerprint?.(deps, canonicalOf(idempotency.body)) ?? fingerprintOf(idempotency.body);
    const pause = pauseIfLate();
    if (pause !== null) await pause;
    let isLookedFor = command.isRecognizedByCommit !== true;
    while (true) {
      const first = underWay.get(key);
      if (first !== undefined) {
        await first.catch(() => {});
        isLookedFor = true;
      }
      if (isLookedFor) {
        const recorded = await recall<ReturnType<typeof command.decide>>(deps, key, fingerprint);
        if (recorded !== undefined) return { ...recorded, replayed: true };
        if (underWay.has(key)) continue;
      }

      const attempt = performWithRoom(deps, command, caller, request, { key, fingerprint });
      underWay.set(key, attempt);
      try {
        return { ...(await attempt), replayed: false };
      } catch (error) {
        // Somebody else was first under this key: the answer of then is the answer, also where it would be refused now.
        const isKnown = error instanceof OnceConflict || (!isLookedFor && (await isRecorded(deps, { key })));
        if (!isKnown) throw error;
        isLookedFor = true;
      } finally {
        underWay.delete(key);
      }
    }
  };
}

async function isRecorded({ store }: KernelDeps, once: { key: string } | undefined): Promise<boolean> {
  return once !== undefined && (await store.once(once.key)) !== undefined;
}

function performWithRoom<Request, Result>(
  deps: KernelDeps,
  command: Command<Request, Result>,
  caller: Caller,
  request: Request,
  once?: { key: string; fingerprint: string },
): Promise<Omit<Answer<Result>, "replayed">> {
  try {
    const room = addsData(command, request) ? decided(deps, caller, requireRoom) : null;
    const act = () => perform(deps, command, caller, request, once);
    return room instanceof Promise ? room.then(act) : act();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Whose answers these are. Another key of the same actor may see less, and must not be handed them. */
function callerParts({ tenantId, actor, workspaceIds, keyId }: Caller): unknown[] {
  return [tenantId, actor, workspaceIds, ...(keyId === undefined ? [] : [{ keyId }])];
}

function addsData<Request>(
  { isAllowedWithoutRoom: isAllowed }: Pick<Command<Request, unknown>, "isAllowedWithoutRoom">,
  request: Request,
): boolean {
  return typeof isAllowed === "function" ? !isAllowed(request) : isAllowed !== true;
}

/** Equal for equal JSON, whatever the order of its keys. */
function fingerprintOf(body: unknown): string {
  return hashOf(body ?? null);
}

function canonicalOf(body: unknown): string {
  return hashWellFormed(body ?? null, canonicalJson);
}

async function recall<Result>(
  deps: KernelDeps,
  key: string,
  fingerprint: string,
): Promise<Omit<Answer<Result>, "replayed"> | undefined> {
  const record = await deps.store.once(key);
  if (record === undefined) return undefined;
  if (record.fingerprint !== fingerprint) {
    throw new HarnessError(
      "idempotency_key_reused",
      "This Idempotency-Key was used before with another request. Send a new key, or the same request.",
    );
  }
  return { result: JSON.parse(record.result), position: record.position };
}

/** A command without the checks at the door: for the harness itself and for commands made of other commands. */
export async function runCommand<Request, Result>(
  deps: KernelDeps,
  command: Command<Request, Result>,
  caller: Caller,
  request: Request,
): Promise<Result> {
  return (await perform(deps, command, caller, request)).result;
}

async function perform<Request, Result>(
  deps: KernelDeps,
  command: Command<Request, Result>,
  caller: Caller,
  request: Request,
  once?: { key: string; fingerprint: string },
): Promise<Omit<Answer<Result>, "replayed">> {
  let isAhead = command.isAhead === true;
  let toHold: readonly string[] = [];
  const budget = new SearchBudget();
  for (let attempt = 1; ; attempt++) {
    const loaded = new Loaded(deps, { isAhead, budget });
    try {
      if (toHold.length > 0) await loaded.waitFor(toHold);
      const decide = (unit: Unit) => decideWhole(unit, command, request, once);
      const decision = decided(deps, caller, decide, loaded);
      const { result, batch } = decision instanceof Promise ? await decision : decision;
      const events = isEmpty(batch) ? [] : await deps.store.commit(batch);
      const position = events.at(-1)?.position ?? null;
      // It is on disk, and what is left to do may need the same locks.
      loaded.release();
      const left = position === null ? undefined : command.afterwards?.(deps, caller, result, request);
      if (left !== undefined) await left;
      return { result, position };
    } catch (error) {
      if (budget.isExceeded) {
        // Whatever went wrong may be due to texts that were not searched (S1). Others need not wait for the search.
        loaded.release();
        await budget.refill(deps.searchTexts);
        attempt -= 1;
        continue;
      }
      if (error instanceof StoreUnavailable) {
        throw cannotWrite(error.fault ?? "the write failed", error);
      }
      if (error instanceof OutcomeUnknown) throw outcomeUnknown(error);
      if (error instanceof HarnessError) {
        loaded.release();
        // The same request as before is not refused, whatever has changed since.
        if (await isRecorded(deps, once)) throw new OnceConflict(once?.key ?? "");
        await command.refused?.(deps, caller, error, request);
      }
      if (error instanceof OutOfTurn) toHold = error.ids;
      else if (!(error instanceof VersionConflict)) throw error;
      // When that was a mistake, what is on disk decides.
      else isAhead = false;
      if (attempt >= (command.triesMax ?? triesMax)) {
        throw new HarnessError(
          "conflict",
          command.gaveUp ?? `Too many writers change the same resource; ${command.name} gave up.`,
        );
      }
    } finally {
      loaded.release();
    }
  }
}

/** The decision with everything that goes into its commit. */
function decideWhole<Request, Result>(
  unit: Unit,
  command: Command<Request, Result>,
  request: Request,
  once: { key: string; fingerprint: string } | undefined,
): { result: Result; batch: Batch } {
  unit.prefetch(command.needs?.(request) ?? []);
  const result = command.decide(unit, request);
  const audited = unit.hasEvents ? (command.audit?.(request, result, unit) ?? null) : null;
  if (audited !== null) recordAudit(unit, audited);
  const batch = unit.batch();
  if (once !== undefined) {
    const kept = command.forRecord === undefined ? result : command.forRecord(result);
    batch.once = {
      ...once,
      result: JSON.stringify(unit.redactor.value(kept)),
      expiresAt: unit.deps.clock.now() + (command.keptMs?.(result) ?? onceKeptMs),
    };
  }
  unit.settle();
  return { result, batch };
}

function isEmpty({ events, once, rewrite }: Batch): boolean {
  return events.length === 0 && once === undefined && rewrite === undefined;
}
