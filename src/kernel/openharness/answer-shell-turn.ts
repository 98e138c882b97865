/**
 * Settle what the response to a turn is: what became of the run up to an event, once and for all. Whoever asks again, and
 * whoever waits for the same turn beside, gets the response that was settled first.
 */

import type { Position } from "../../store/port.ts";
import { timestamp } from "../core/clock.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { type ShellLinkRecord, shellLinkIdOf, type ToldTurn } from "../kinds/shell-link.ts";

export interface AnswerShellTurn {
  taskId: string;
  turn: number;
  through: Position;
  asked: string[];
  question: string | null;
  /** How long the run can be continued; null when there is nothing to continue. */
  continueMs: number | null;
  latencyMs: number;
}

export const answerShellTurn: Command<AnswerShellTurn, ShellLinkRecord> = {
  name: "answer_shell_turn",
  scope: "tasks:write",
  decide(unit, { taskId, turn, through, asked, question, continueMs, latencyMs }) {
    const link = unit.require("shell_link", shellLinkIdOf(taskId));
    if ((link.told?.turn ?? 0) >= turn) return link;
    if (link.turn !== turn) {
      throw new HarnessError("conflict", `Turn ${turn} of ${taskId} was left without an answer.`);
    }
    const expiresAt = continueMs === null ? null : timestamp(unit.deps.clock.now() + continueMs);
    const told: ToldTurn = {
      turn,
      after: link.told?.through ?? 0,
      through,
      asked,
      question,
      expires_at: expiresAt,
      latency_ms: latencyMs,
    };
    return unit.emit(link, "vendor.bridle.shell_link.turn_answered", { told });
  },
};
