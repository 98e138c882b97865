/** The table of states, cell by cell, as the specification prints it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayRefusal } from "../../core/gateway-link.ts";
import type { ExchangeState } from "../../core/wire.ts";
import { type ExchangeEvent, stateAfter, transitions } from "./states.ts";

const states = [
  "none",
  "pendingApproval",
  "decided",
  "delivered",
  "expired",
  "withdrawn",
  "cancelled",
] as const satisfies (ExchangeState | "none")[];

/** For each state in that order: the state afterwards, what it is refused with, or – for what cannot come about. */
const table: Record<ExchangeEvent, string> = {
  artifact_same: "pendingApproval pendingApproval decided delivered expired withdrawn cancelled",
  artifact_other:
    "pendingApproval AlreadyExistsConflict AlreadyExistsConflict AlreadyExistsConflict AlreadyExistsConflict AlreadyExistsConflict AlreadyExistsConflict",
  decision_new:
    "ExchangeNotFound decided AlreadyDecidedConflict AlreadyDecidedConflict ExchangeExpiredConflict ExchangeWithdrawn ExchangeCancelledConflict",
  decision_duplicate: "ExchangeNotFound – decided delivered – – –",
  delivery_acknowledged: "MessageNotFound MessageNotFound delivered delivered – – –",
  request_acknowledged: "MessageNotFound pendingApproval decided delivered expired withdrawn cancelled",
  withdraw:
    "ExchangeNotFound withdrawn InvalidStateConflict InvalidStateConflict InvalidStateConflict InvalidStateConflict InvalidStateConflict",
  cancel:
    "ExchangeNotFound cancelled InvalidStateConflict InvalidStateConflict InvalidStateConflict InvalidStateConflict InvalidStateConflict",
  time_over: "– expired decided delivered expired withdrawn cancelled",
};

function outcome(event: ExchangeEvent, state: ExchangeState | "none"): string {
  try {
    return stateAfter(event, state);
  } catch (error) {
    return error instanceof GatewayRefusal ? error.code : "–";
  }
}

for (const [event, row] of Object.entries(table) as [ExchangeEvent, string][]) {
  test(`HARP-50 ${event} changes or keeps each state as the table says`, () => {
    // Given each state, when ${event} comes about, then what becomes of it is what the table says.
    assert.deepEqual(
      states.map((state) => outcome(event, state)),
      row.split(" "),
    );
  });
}

test("HARP-50, HARP-51 no path through the table undoes a decision", () => {
  // Given the table, when the ways out of each state are followed, then what was decided is never undone.
  const waysFrom = (from: ExchangeState): string[] =>
    Object.values(transitions).flatMap((row) => {
      const found = row[from];
      return typeof found === "object" && "to" in found ? [found.to] : [];
    });
  assert.deepEqual([...new Set(waysFrom("pendingApproval"))].sort(), [
    "cancelled",
    "decided",
    "expired",
    "withdrawn",
  ]);
  assert.deepEqual(waysFrom("decided"), ["delivered"]);
  for (const last of ["delivered", "expired", "withdrawn", "cancelled"] as const) {
    assert.deepEqual(waysFrom(last), [], last);
  }
});

test("HARP-84 of the table's refusals exactly the conflicts have status 409", () => {
  // Given what the table refuses, when its statuses are read, then conflicts and nothing else are 409.
  for (const event of Object.keys(table) as ExchangeEvent[]) {
    for (const state of states) {
      try {
        stateAfter(event, state);
      } catch (error) {
        if (error instanceof GatewayRefusal) {
          assert.equal(error.status === 409, error.code.endsWith("Conflict"), error.code);
          assert.equal(typeof error.details.retryable, "boolean");
        }
      }
    }
  }
});
