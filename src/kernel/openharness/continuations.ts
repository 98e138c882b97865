/**
 * Continuation tokens. A token names the run and the turn that it was given with, and proves both with a code that only
 * the holder of the run's seed can make. It is good once, because the next turn makes it an old one.
 *
 * It is made from what is on disk instead of being kept itself, so that a response that is asked for again has the same one.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { Caller } from "../../policy/caller.ts";
import { sha256Hex } from "../core/content.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { type ShellLinkRecord, shellLinkIdOf } from "../kinds/shell-link.ts";

/** What a shell sends to go on with a run. */
export interface Continuation {
  token: string | null;
  runId: string | null;
  sopId: string | null;
}

/** Which of the reasons it is would help those who guess. */
export class ContinuationInvalid extends HarnessError {
  constructor() {
    super(
      "conflict",
      "This continuation cannot be used: it was used before, has expired, or was given to somebody else.",
      { param: "request.context.continuation" },
    );
  }
}

const pattern = /^ctok_([0-9A-Z]{26})_([1-9]\d{0,8})_([0-9a-f]{32})$/;

export function tokenOf({ task_id, seed }: ShellLinkRecord, turn: number): string {
  const code = createHmac("sha256", seed).update(`${task_id} ${turn}`).digest("hex").slice(0, 32);
  return `ctok_${task_id.slice("task_".length)}_${turn}_${code}`;
}

/** The run that a continuation is for, once it has proved to be good. A busy run must not be faster again and again. */
export function requireContinued(unit: Unit, { token, runId, sopId }: Continuation): ShellLinkRecord {
  const [, id, turn] = pattern.exec(token ?? "") ?? [];
  const taskId = `task_${id}`;
  if (id !== undefined) unit.hold(taskId);
  const link = id === undefined ? undefined : unit.find("shell_link", shellLinkIdOf(taskId));
  if (link === undefined || !isEqual(tokenOf(link, Number(turn)), token ?? ""))
    throw new ContinuationInvalid();
  const { told } = link;
  const isCurrent = told !== null && told.turn === link.turn && told.turn === Number(turn);
  const isOpen = told?.expires_at != null && Date.parse(told.expires_at) > unit.deps.clock.now();
  const isTheirs = link.caller === callerName(unit.caller) && (runId ?? taskId) === taskId;
  const isOfSop = sopId === null || unit.find("task", taskId)?.agent.name === sopId;
  if (!isCurrent || !isOpen || !isTheirs || !isOfSop) throw new ContinuationInvalid();
  return link;
}

/** Equal for equal callers: the same that idempotency keys are told apart by. */
export function callerName({ tenantId, actor, workspaceIds }: Caller): string {
  return sha256Hex(JSON.stringify([tenantId, actor, workspaceIds]));
}

function isEqual(expected: string, given: string): boolean {
  return expected.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}
