import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import hello from "./hello.ts";

test("whoever answers is greeted, wherever the process dies on the way", async () => {
  const run = await rehearse(hello, {
    input: "Hi!",
    people: { answers: ["Ada"] },
    crashEverywhere: true,
  });
  assert.equal(run.output, "Hello, Ada!");
  run.expectSteps(["step:choose:1", "ask:1", "step:greet:1"]);
});

test("nobody is greeted before there is an answer", async () => {
  const run = await rehearse(hello, { input: "Hi!" });
  assert.equal(run.status, "INPUT_REQUIRED");
  run.expectSteps(["step:choose:1", "..."]);
});
