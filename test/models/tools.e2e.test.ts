/** Tools that run when their task is canceled, and what is heard of them afterwards. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { ModelWorld } from "../support/model-runs.ts";
import { createPersona } from "../support/policy.ts";

let world: ModelWorld;
before(async () => {
  world = await ModelWorld.start();
});
after(() => world[Symbol.asyncDispose]());

async function cancel({ id }: Json): Promise<void> {
  const { status, body } = await world.client.post(`/v1/tasks/${id}/cancel`, { reason: "enough" });
  assert.ok(status < 300, JSON.stringify(body));
}

/** What the MCP server remembers: see `Memory` in `mcp-servers/everything.ts`. */
async function remembered(): Promise<Json> {
  return (await world.output(await world.play([{ do: "tool", name: "everything.counts" }])))[0];
}

describe("tools of a task that is canceled", () => {
  for (const name of ["lamp.look", "valve.turn", "rocket.launch"]) {
    test(`MTE-18 canceling the task of ${name} aborts its signal; a late result changes nothing`, async () => {
      // Given ${name} at work, when its task is canceled, then its signal is aborted, and what it gives late is told and
      // changes nothing.
      const gate = `late-${name}`;
      const task = await world.begin([
        { do: "tool", name, input: { gate } },
        { do: "generate", prompt: `after ${name}` },
      ]);
      await world.noted(`${name} ${gate}`);
      await cancel(task);
      await world.noted(`aborted ${gate}`);
      const canceled = await world.ended(task);
      assert.equal(canceled.status, "CANCELED");
      world.open(gate);
      const events = await until(
        () => world.events(task),
        (all) => all.some(({ event }) => event === "vendor.bridle.step.late_result"),
      );
      const names = events.map(({ event }) => event);
      const late = events.find(({ event }) => event === "vendor.bridle.step.late_result");
      assert.ok(names.indexOf("task.canceled") < names.indexOf("vendor.bridle.step.late_result"));
      assert.equal(late.payload.step, `tool:${name}:1`);
      assert.equal(late.payload.result.output, `${name} is through ${gate}`);
      const { updated_at: _, ...before } = canceled;
      const { updated_at: __, ...now } = await world.ended(task);
      assert.deepEqual(now, before);
      assert.equal(world.requests(`after ${name}`).length, 0);
    });
  }

  test("MTE-19 canceling a task cancels its running call at the MCP server", async () => {
    // Given an MCP tool at work, when the task is canceled, then the server hears that the call is.
    const task = await world.begin([{ do: "tool", name: "everything.slow" }]);
    await until(remembered, ({ slow }) => slow === 1);
    await cancel(task);
    assert.equal((await world.ended(task)).status, "CANCELED");
    await until(remembered, ({ cancelled }) => cancelled === 1);
  });

  test("MTE-19 canceling a task closes the model's connection and emits nothing more", async () => {
    // Given a model that speaks, when its task is canceled, then its connection is closed and nothing more is told.
    world.script("speech", { chunks: ["Friends, ".repeat(300), "Romans"], holdAfterChunks: 1 });
    const task = await world.begin([{ do: "stream", prompt: "speech" }]);
    await world.heardSome(task);
    await cancel(task);
    assert.equal((await world.ended(task)).status, "CANCELED");
    assert.equal(await world.requests("speech")[0]?.isLeft, true);
    assert.deepEqual(
      (await world.events(task)).slice(-2).map(({ event }) => event),
      ["task.canceled", "receipt.issued"],
    );
  });
});

async function approve(task: Json): Promise<void> {
  const asked = await world.client.untilTask(task.id, ({ waiting_for }) => waiting_for?.kind === "approval");
  const path = `/v1/permission-requests/${asked.waiting_for.permission_request_id}/respond`;
  assert.equal((await world.client.post(path, { approved: true })).status, 200);
}

describe("tools that ask in the middle of a call", () => {
  /** One that was asked and has its answer, in the step after it. */
  async function answered(name: string, server: string, autonomy_tier: string): Promise<Json> {
    const persona = await createPersona(world.client, { name, entry_workflow: "player", autonomy_tier });
    const task = await world.begin(
      [
        { do: "tool", name: `${server}.elicits`, input: { question: "Really?" } },
        { do: "step", gate: name },
      ],
      { persona },
    );
    if (autonomy_tier === "act_with_approval") await approve(task);
    await world.client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    await world.client.answer(task.id, '{"answer":"yes"}');
    await world.noted(`waiting ${name}`);
    return task;
  }

  test("MTE-23 tools with answered questions ask nobody again after a kill or in a replay", async () => {
    // Given tools that can be undone or not, approved or not, whose questions were answered, when the server is killed
    // and when the tasks are replayed, then nobody is asked again.
    const tasks = {
      "can be undone": await answered("can be undone", "everything", "act_auto"),
      "cannot be undone": await answered("cannot be undone", "wild", "act_auto"),
      "approved, can be undone": await answered("approved, can be undone", "everything", "act_with_approval"),
      "approved, cannot be undone": await answered("approved, cannot be undone", "wild", "act_with_approval"),
    };
    await world.crash();
    for (const [name, task] of Object.entries(tasks)) {
      world.open(name);
      assert.deepEqual(await world.output(await world.ended(task)), ["yes", null]);
      const { body } = await world.client.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" });
      const replay = await world.ended(body);
      assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
    }
  });
});

describe("tools that the assistant's model asks for", () => {
  test("MTE-20 after a kill the model hears of a used up MCP approval and the other result", async () => {
    // Given an approved tool of an MCP server and one that only looks, when the server is killed while the first asks
    // something, then the model hears that its approval is used up, and what the other gave.
    const persona = await createPersona(world.client, {
      name: "Careful",
      entry_workflow: "assistant",
      autonomy_tier: "act_with_approval",
      tools: ["everything.elicits", "everything.echo"],
    });
    const calls = [
      { id: "call_a", name: "everything_elicits", input: { question: "Which size?" } },
      { id: "call_b", name: "everything_echo", input: { text: "an echo" } },
    ];
    world.script("shoes", { toolCalls: calls }, { text: "Ordered." });
    const task = await world.client.submit(world.sessionId, "I need shoes.", { persona_id: persona.id });
    const asked = await world.client.untilTask(
      task.id,
      ({ waiting_for }) => waiting_for?.kind === "approval",
    );
    const path = `/v1/permission-requests/${asked.waiting_for.permission_request_id}/respond`;
    assert.equal((await world.client.post(path, { approved: true })).status, 200);
    await world.client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    await world.crash();
    await world.client.answer(task.id, '{"answer":"42"}');
    const ended = await world.ended(task);
    assert.equal(await world.output(ended), "Ordered.");
    const [, second] = world.requests("I need shoes");
    const heard = JSON.stringify(second?.body);
    // The approval was used by the call that was cut off: it is not made again.
    assert.match(heard, /call_a.*approval_used/s);
    assert.match(heard, /an echo/);
    await world.server.stop();
    await assertRebuildable(world.data);
  });
});
