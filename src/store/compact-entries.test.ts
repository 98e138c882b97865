import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { entryOf, parseEntries } from "./compact-entries.ts";
import { payloadPatterns } from "./payload-patterns.ts";
import type { NewEvent } from "./port.ts";

const shared = {
  tenantId: "tenant_a",
  workspaceId: "workspace_a",
  sessionId: "session_a",
  taskId: "task_a",
  actor: "ann",
  createdAt: "2026-11-20T00:00:00.000Z",
};

function eventWith(event: string, object: string, payload: object): NewEvent {
  return { ...shared, event, resource: { object, id: `${object}_a` }, payload };
}

/** As it is on disk, and as it is read again. */
function stored(event: NewEvent) {
  const text = JSON.stringify([entryOf(event)]);
  return { text, entries: parseEntries(text, event) };
}

/** Every place in a value where something can be otherwise. */
function placesIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, one]) => placesIn(one, [...path, name]))];
}

type Change = { to: unknown } | "removed" | "with another member" | "in another order";

function changed(value: unknown, [name, ...rest]: string[], change: Change): unknown {
  if (name !== undefined) {
    const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
      ? [...value]
      : { ...Object(value) };
    const one: unknown = Reflect.get(copy, name);
    if (rest.length === 0 && change === "removed") Reflect.deleteProperty(copy, name);
    else Reflect.set(copy, name, changed(one, rest, change));
    return copy;
  }
  if (typeof change === "object") return change.to;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (change === "with another member") return { ...value, more: 1 };
  if (change === "in another order") return Object.fromEntries(Object.entries(value).toReversed());
  return value;
}

const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(undefined, "task_a", "session_a", "{id}", shared.createdAt, Number.NaN, -0, new Date(0)),
);

const anyChange = fc.oneof(
  fc.record({ to: anyValue }),
  fc.constantFrom<Change>("removed", "with another member", "in another order"),
);

test("STO-10 payloads like a pattern, or almost, are read exactly as they were written", () => {
  const anyPayload = fc.constantFrom(...payloadPatterns).chain((pattern) =>
    fc.record({
      pattern: fc.constant(pattern),
      changes: fc.array(
        fc.record({ path: fc.constantFrom(...placesIn(pattern.payload).slice(1)), change: anyChange }),
        { maxLength: 5 },
      ),
    }),
  );
  fc.assert(
    fc.property(anyPayload, ({ pattern: { event, object, payload }, changes }) => {
      const whole = changes.reduce<object>(
        (now, { path, change }) => Object(changed(now, path, change)),
        payload,
      );
      const { entries } = stored(eventWith(event, object, whole));
      // As text, since the order of members is part of what is answered.
      assert.equal(JSON.stringify(entries), JSON.stringify([[event, object, `${object}_a`, whole]]));
    }),
    { numRuns: cases(4000) },
  );
});

test("STO-10 copies, imported events and rows of earlier versions keep their whole payload", () => {
  const payload = { from: "SUBMITTED", to: "WORKING", reason: null };
  const plain = eventWith("task.status_changed", "task", payload);
  assert.equal(stored(plain).text, '[[3,"task_a"]]');
  const copy = { ...plain, replay: { is_copy: true } };
  const whole = ["task.status_changed", "task", "task_a", payload];
  assert.deepEqual(stored(copy).entries, [[...whole, { is_copy: true }]]);
  const imported = { ...plain, imported: { by: "ann" } };
  assert.deepEqual(stored(imported).entries, [[...whole, null, { by: "ann" }]]);
  assert.deepEqual(parseEntries(JSON.stringify([whole]), shared), [whole]);
  assert.throws(() => parseEntries('[[9999,"task_a"]]', shared), /does not know the payload pattern 9999/);
});
