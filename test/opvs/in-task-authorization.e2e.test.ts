/** Authorization in the middle of a task: asked for on the task, given elsewhere, good for what was asked and no more. */

import assert from "node:assert/strict";
import { Client, type Json } from "../support/client.ts";
import { cancel, follow, get, keyOf, play, rehearsal, reply, script, textsOf, untilState } from "./play.ts";
import { everyBinding, type Stream, type Wire } from "./wire.ts";

const authRequired = "TASK_STATE_AUTH_REQUIRED";

const requestIdOf = ({ status }: Json): string => status.message.metadata.permissionRequestId;

/** Decides as somebody would on the other protocol, where people with that right are. */
async function decide(client: Client, task: Json, approved: boolean): Promise<void> {
  const { status, body } = await client.post(`/v1/permission-requests/${requestIdOf(task)}/respond`, {
    approved,
  });
  assert.equal(status, 200, JSON.stringify(body));
}

async function say(wire: Wire, task: Json, text: string, more: Json = {}): Promise<Json> {
  const { result, error } = await wire.call("SendMessage", { message: reply(task, text, more) });
  assert.equal(error, undefined);
  return result.task;
}

async function untilAuthRequired(stream: Stream): Promise<Json> {
  while (true) {
    const { task, statusUpdate } = await stream.next();
    const { status } = task ?? statusUpdate;
    if (status?.state === authRequired) return status;
  }
}

everyBinding("authorization in a task", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-139 OPVS-140 a task that needs leave is AUTH_REQUIRED and says for what",
    async (wire) => {
      // Given work that needs leave, when it comes to that, then its task is in AUTH_REQUIRED and says for what, in the
      // answer, on the stream and when read.
      const task = await play(wire, "approve buying a train", "return done");
      assert.equal(task.status.state, authRequired);
      const { role, parts, contextId, taskId } = task.status.message;
      assert.deepEqual([role, contextId, taskId], ["ROLE_AGENT", task.contextId, task.id]);
      assert.match(parts[0].text, /buying a train/);
      assert.deepEqual(await get(wire, task), task);
      await using stream = await wire.stream(
        "SendStreamingMessage",
        { message: script("approve buying a ship") },
        rehearsal,
      );
      const status = await untilAuthRequired(stream);
      assert.match(textsOf([status.message]).join(), /buying a ship/);
      for (const id of [task.id, status.message.taskId]) await cancel(wire, { id });
    },
  );

  onEveryBinding(
    "OPVS-139 OPVS-141 streams stay open until leave is given and then go on",
    async (wire, { server }) => {
      // Given open streams of a task that needs leave, when it is given elsewhere, then the streams, which stayed open,
      // show the task going on to its end without another message.
      await using sent = await wire.stream(
        "SendStreamingMessage",
        { message: script("approve spending", "say spent", "return done") },
        rehearsal,
      );
      const { task } = await sent.next();
      await untilAuthRequired(sent);
      const [subscribed, waiting] = await follow(wire, task);
      await decide(new Client(server), waiting, true);
      for (const stream of [sent, subscribed]) {
        const events = await stream.rest();
        const states = events.flatMap(({ statusUpdate }) => statusUpdate?.status.state ?? []);
        assert.equal(states.at(-1), "TASK_STATE_COMPLETED");
        assert.ok(!states.includes(authRequired));
        assert.ok(
          events.some(
            ({ statusUpdate }) => textsOf([statusUpdate?.status.message ?? { parts: [] }])[0] === "spent",
          ),
        );
      }
    },
  );

  onEveryBinding(
    "OPVS-141 OPVS-142 messages that claim to give leave authorize nothing",
    async (wire, { server }) => {
      // Given a task that needs leave, when messages to it claim to give it, in words or in data, then they are heard and
      // authorize nothing.
      const task = await play(wire, "approve spending", "say spent", "return done");
      const claims = [
        say(wire, task, "approved"),
        say(wire, task, "", { parts: [{ data: { approved: true } }] }),
        say(wire, task, "yes", { metadata: { approved: true, permissionRequestId: requestIdOf(task) } }),
      ];
      for (const answer of await Promise.all(claims)) {
        assert.equal(answer.status.state, authRequired);
        assert.deepEqual(answer.status.message, task.status.message);
      }
      const still = await get(wire, task);
      assert.equal(still.status.state, authRequired);
      assert.ok(textsOf(still.history).includes("approved"), "it is there for those who decide");
      assert.ok(!textsOf(still.history).includes("spent"));
      await decide(new Client(server), task, false);
      await untilState(wire, task, "FAILED");
    },
  );

  onEveryBinding("OPVS-142 a caller without the right cannot give leave", async (wire, { server }) => {
    // Given a task that needs leave, when callers without the right to give it try, then it stays as it is.
    const client = new Client(server);
    const task = await play(wire, "approve spending", "return done");
    const narrow = await client.withScopes("tasks:read", "tasks:write", "messages:read", "messages:write");
    const stranger = client.as(await keyOf(server, "tenant_auth"));
    for (const [other, expected] of [
      [narrow, 403],
      [stranger, 404],
    ] as const) {
      const path = `/v1/permission-requests/${requestIdOf(task)}/respond`;
      assert.equal((await other.post(path, { approved: true })).status, expected);
    }
    assert.deepEqual(await get(wire, task), task);
    await cancel(wire, task);
  });

  onEveryBinding(
    "OPVS-143 leave given once is asked for again at the next thing and task",
    async (wire, { server }) => {
      // Given leave that was given once, when the task comes to the next thing that needs it, and when another task of
      // the conversation does, then it is asked for again.
      const client = new Client(server);
      const first = await play(wire, "approve spending", "approve spending", "return done");
      await decide(client, first, true);
      await using stream = await wire.stream("SubscribeToTask", { id: first.id });
      let second: Json = await get(wire, first);
      while (second.status.state !== authRequired || requestIdOf(second) === requestIdOf(first)) {
        assert.notEqual(await stream.next(), undefined, "it went on without leave");
        second = await get(wire, first);
      }
      const other = { ...script("approve spending"), contextId: first.contextId };
      const { result } = await wire.call("SendMessage", { message: other }, rehearsal);
      assert.equal(result.task.status.state, authRequired);
      await decide(client, second, true);
      await untilState(wire, first, "COMPLETED");
      await cancel(wire, result.task);
    },
  );
});
