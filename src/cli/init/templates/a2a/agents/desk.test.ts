import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import desk from "./desk.ts";
import librarian from "./librarian.ts";

test("the desk asks the librarian, wherever the process dies on the way", async () => {
  const run = await rehearse(desk, { input: "Emma", agents: [librarian], crashEverywhere: true });
  assert.equal(run.output, "Emma: shelf 7");
});

test("the desk asks for a title when it was given none", async () => {
  const run = await rehearse(desk, { input: "", agents: [librarian], people: { answers: ["Ulysses"] } });
  assert.equal(run.output, "Ulysses: not here");
});
