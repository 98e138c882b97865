/** What the replay pages decide by themselves: what can be changed, what is wrong with a value, where two runs part. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StepOutput } from "bridle/client";
import {
  editableSteps,
  problemIn,
  refusedStep,
  replayRequest,
} from "../../console/src/pages/replay/changes.ts";
import { compareOutputs, firstDifference } from "../../console/src/pages/replay/compare.ts";

const value = (given: unknown): StepOutput => ({ type: "value", value: given });

describe("the replay pages", () => {
  const outputs = new Map<string, StepOutput>([
    ["step:search:1", value({ price: 80 })],
    ["time:now:1", value(1_777_143_600_000)],
    ["approve:1", { type: "decision", approved: true, reason: null }],
    ["llm:draft:1", value({ redacted: true })],
    ["result", value("Done.")],
  ]);
  const steps = editableSteps(outputs);

  test("CON-16 steps with values can be changed; what the key may not read is not shown as a value", () => {
    assert.deepEqual(
      steps.map(({ key, recorded, isHidden }) => [key, recorded, isHidden]),
      [
        ["step:search:1", '{\n  "price": 80\n}', false],
        ["time:now:1", "1777143600000", false],
        ["approve:1", '{\n  "approved": true\n}', false],
        ["llm:draft:1", null, true],
      ],
    );
  });

  test("CON-16 a value that the server would refuse is said to be wrong before it is sent", () => {
    const [search, time, approval] = steps;
    assert.ok(search !== undefined && time !== undefined && approval !== undefined);
    assert.match(problemIn(search, '{"price": }') ?? "", /not JSON/);
    assert.equal(problemIn(search, '{"price": 90}'), null);
    assert.match(problemIn(time, '"tomorrow"') ?? "", /RFC 3339/);
    assert.equal(problemIn(time, '"2026-04-25T19:00:00Z"'), null);
    assert.match(problemIn(approval, '{"approved": "yes"}') ?? "", /approved/);
    assert.equal(problemIn(approval, '{"approved": false}'), null);
  });

  test("CON-16 the request holds the changed steps only, and is exact without any", () => {
    const none = { live: [], version: null, reason: "" };
    assert.equal(replayRequest(steps, new Map(), none).mode, "exact");
    assert.deepEqual(
      replayRequest(steps, new Map([["step:search:1", '{"price":90}']]), {
        ...none,
        live: ["llm"],
        reason: "why",
      }),
      {
        mode: "with_overrides",
        override: { "step:search:1": { kind: "tool_result", value: { price: 90 } } },
        metadata: { allow_live: ["llm"] },
        reason: "why",
      },
    );
    assert.equal(refusedStep(new Error("no"), steps), null);
  });

  test("CON-16 the first difference is found; steps that a replay has not reached are none yet", () => {
    const replay = new Map(outputs).set("time:now:1", value(0));
    replay.delete("result");
    const rows = compareOutputs(outputs, replay);
    assert.equal(rows[firstDifference(rows, true)]?.key, "time:now:1");
    const begun = compareOutputs(outputs, new Map([["step:search:1", value({ price: 80 })]]));
    assert.equal(firstDifference(begun, false), -1);
    assert.equal(begun[firstDifference(begun, true)]?.key, "time:now:1");
  });
});
