/** Who names what: tasks, conversations, and turns within them. */

import assert from "node:assert/strict";
import { Client, type Json } from "../support/client.ts";
import { begin, cancel, get, keyOf, play, rehearsal, reply, script, sleepLong, textsOf } from "./play.ts";
import { everyBinding, message, type Wire } from "./wire.ts";

async function send(wire: Wire, said: Json, options = {}): Promise<Json> {
  const { result, error } = await wire.call("SendMessage", { message: said }, options);
  assert.equal(error, undefined);
  return result;
}

async function totalOf(wire: Wire): Promise<number> {
  return (await wire.call("ListTasks", {})).result.totalSize;
}

const sessionOf = async (client: Client, { id }: Json): Promise<string> =>
  (await client.get(`/v1/tasks/${id}`)).body.session_id;

/** Every message in it, wherever it stands. */
function messagesIn(value: Json): Json[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(messagesIn);
  return "messageId" in value ? [value, ...inner] : inner;
}

everyBinding("turns", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-31 OPVS-33 OPVS-34 each message alone gets a task and a conversation",
    async (wire) => {
      // Given messages that name no conversation, when they are sent at once, then each has a task and a conversation of
      // its own, by ids that the server made and says.
      const sent = await Promise.all(Array.from({ length: 20 }, (_, n) => send(wire, message(String(n)))));
      for (const name of ["id", "contextId"]) {
        const ids = sent.map(({ task }) => task[name]);
        assert.equal(new Set(ids).size, 20);
        for (const id of ids) assert.match(id, /^[a-z]+_\w{20,}$/);
      }
      const answer = await send(wire, message("hello"), { agent: "messenger" });
      assert.match(answer.message.contextId, /^session_/);
      const next = await send(wire, message("x", { contextId: answer.message.contextId }));
      assert.equal(next.task.contextId, answer.message.contextId, "and it can be gone on with");
    },
  );

  onEveryBinding(
    "OPVS-32 an impossible conversation is refused by field, nothing is made",
    async (wire, { server }) => {
      // Given conversations that cannot be, when a message names one, sent or streamed, then it is refused by the name of
      // the field and nothing is made.
      const theirs = await send(wire, message("x"), { key: await keyOf(server, "tenant_turns") });
      const before = await totalOf(wire);
      for (const contextId of ["session_that_never_was", theirs.task.contextId, "x".repeat(201)]) {
        const said = message("hello", { contextId });
        for (const { error } of [
          await wire.call("SendMessage", { message: said }),
          await wire.stream("SendStreamingMessage", { message: said }),
        ]) {
          assert.equal(error?.status, "INVALID_ARGUMENT");
          assert.equal(error.details[0].fieldViolations[0].field, "message.contextId");
        }
      }
      assert.equal(await totalOf(wire), before);
    },
  );

  onEveryBinding(
    "OPVS-35 a message for an unknown or foreign task is TaskNotFound",
    async (wire, { server }) => {
      // Given an id that no task has, or one of another tenant, when a message is for it, sent or streamed, then it is
      // TaskNotFound and nothing is made.
      const key = await keyOf(server, "tenant_turns");
      const sent = await wire.call("SendMessage", { message: script("ask x?") }, { ...rehearsal, key });
      const theirs = sent.result.task;
      const before = await totalOf(wire);
      for (const taskId of ["task_none", "my-own-id", theirs.id]) {
        const said = message("hello", { taskId });
        for (const { error } of [
          await wire.call("SendMessage", { message: said }),
          await wire.call("SendMessage", { message: { ...said, contextId: "mine" } }),
          await wire.stream("SendStreamingMessage", { message: said }),
        ]) {
          assert.equal(error?.reason, "TASK_NOT_FOUND");
        }
      }
      assert.equal(await totalOf(wire), before);
      assert.deepEqual(await get(wire, theirs, {}, { key }), theirs);
    },
  );

  onEveryBinding("OPVS-36 an answer that names the task alone is in its conversation", async (wire) => {
    // Given a task that asks, when the answer names the task alone, then it is in the task's conversation.
    const asked = await play(wire, "ask which?", "return done");
    const { task } = await send(wire, reply(asked, "this"));
    assert.deepEqual([task.id, task.contextId], [asked.id, asked.contextId]);
    const answer = task.history.find(
      ({ role, parts }: Json) => role === "ROLE_USER" && parts[0].text === "this",
    );
    assert.deepEqual([answer.taskId, answer.contextId], [asked.id, asked.contextId]);
  });

  onEveryBinding("OPVS-37 a task named with another conversation is refused and unheard", async (wire) => {
    // Given a task of one conversation, when a message names it together with another conversation, then it is refused
    // and the task did not hear it.
    const asked = await play(wire, "ask which?", "return done");
    const other = await send(wire, message("elsewhere"));
    for (const contextId of [other.task.contextId, "made up", "session_never_was"]) {
      const { error } = await wire.call("SendMessage", { message: reply(asked, "this", { contextId }) });
      assert.equal(error?.status, "INVALID_ARGUMENT");
      assert.equal(error.details[0].fieldViolations[0].field, "message.contextId");
    }
    assert.deepEqual(await get(wire, asked), asked);
    const both = await send(wire, reply(asked, "this", { contextId: asked.contextId }));
    assert.equal(both.task.status.state, "TASK_STATE_COMPLETED");
  });

  onEveryBinding("OPVS-38 every message that a server says names its conversation", async (wire) => {
    // Given everything that a server says, when messages are in it, then each names the conversation.
    await using stream = await wire.stream(
      "SendStreamingMessage",
      { message: script("say one", "artifact a.txt A", "ask two?", "fail three") },
      rehearsal,
    );
    const events = await stream.rest();
    const [{ task }] = events;
    const failed = await send(wire, reply(task, "go"));
    const said = messagesIn([events, failed]);
    assert.ok(said.length >= 6);
    for (const { contextId, taskId } of said) {
      assert.deepEqual([contextId, taskId], [task.contextId, task.id]);
    }
  });

  onEveryBinding("OPVS-33 tasks of one conversation run side by side", async (wire) => {
    // Given one conversation, when several tasks run in it at the same time, then each goes on by itself.
    const first = await begin(wire, "ask a?", "return A");
    const said = {
      ...script("return B"),
      contextId: first.contextId,
      referenceTaskIds: [first.id, "task_none"],
    };
    const second = await send(wire, said, rehearsal);
    assert.notEqual(second.task.id, first.id);
    assert.equal(second.task.contextId, first.contextId);
    assert.deepEqual(second.task.history[0].referenceTaskIds, [first.id, "task_none"]);
    const ended = await send(wire, reply(first, "go"));
    assert.deepEqual(textsOf(ended.task.artifacts), ["A"]);
  });

  onEveryBinding("OPVS-36 a message to a task that asks nothing is kept, the task goes on", async (wire) => {
    // Given a task that asks nothing, when a message comes for it, then it is kept and the task goes on.
    const task = await begin(wire, sleepLong);
    const configuration = { returnImmediately: true };
    const { result } = await wire.call("SendMessage", {
      message: reply(task, "by the way"),
      configuration,
    });
    assert.match(result.task.status.state, /WORKING|SUBMITTED/);
    assert.ok(textsOf((await get(wire, task)).history).includes("by the way"));
    await cancel(wire, task);
  });

  onEveryBinding("OPVS-36 what a client says beside the content is there when read", async (wire) => {
    // Given what a client says beside the content, when the task is read, then all of it is there again.
    const said = {
      messageId: "my id",
      role: "ROLE_USER",
      contextId: `all of it ${crypto.randomUUID()}`,
      parts: [
        { text: "hello", metadata: { lang: "en" } },
        { data: [1, null, { deep: true }], filename: "d.json" },
        { data: null },
        { raw: Buffer.from([0, 255, 128]).toString("base64"), mediaType: "image/png", filename: "p.png" },
        { url: "https://example.com/a.pdf", mediaType: "application/pdf" },
      ],
      metadata: { mine: { a: 1 } },
      extensions: ["urn:test:some"],
    };
    const { task } = await send(wire, said, { agent: "omnivore" });
    const { taskId, ...shown } = task.history[0];
    assert.equal(taskId, task.id);
    assert.deepEqual(shown, said);
  });

  onEveryBinding(
    "CTX-1 messages under a made up name are in one conversation of that name",
    async (wire, { server }) => {
      // Given a name that a client made up for a conversation, when messages use it one after the other and at once, then
      // they are in one conversation, under that name.
      for (const contextId of ["my chat", "ünï/cöde?&%00", `${"x".repeat(199)}!`, "__proto__"]) {
        const unique = contextId.length > 100 ? contextId : `${contextId} ${wire.name}`;
        const sent = await Promise.all(
          Array.from({ length: 5 }, (_, n) => send(wire, message(String(n), { contextId: unique }))),
        );
        for (const { task } of sent) {
          assert.equal(task.contextId, unique);
          assert.equal(task.history[0].contextId, unique);
        }
        const listed = await wire.call("ListTasks", { contextId: unique });
        assert.ok(listed.result.totalSize >= 5);
        const client = new Client(server);
        const sessions = await Promise.all(sent.map(({ task }) => sessionOf(client, task)));
        assert.equal(new Set(sessions).size, 1);
      }
    },
  );

  onEveryBinding(
    "CTX-2 callers of other tenants and workspaces never meet under a name",
    async (wire, { server }) => {
      // Given callers of different tenants and workspaces, when they use the same name for a conversation, then they
      // never meet.
      const client = new Client(server);
      const workspace = (await client.post("/v1/workspaces", { name: "turns", root: "/turns" })).body;
      const callers = [
        { key: client.key },
        { key: await keyOf(server, "tenant_turns") },
        { key: (await client.createKey({ workspace_ids: [workspace.id] })).key },
      ];
      const contextId = `the same ${crypto.randomUUID()}`;
      const sent: Json[] = [];
      for (const caller of callers) {
        const { result } = await wire.call(
          "SendMessage",
          { message: { ...script("ask x?"), contextId } },
          { ...rehearsal, ...caller },
        );
        sent.push({ ...result.task, session: await sessionOf(client.as(caller.key), result.task) });
      }
      assert.equal(new Set(sent.map(({ session }) => session)).size, 3);
      for (const [n, caller] of callers.entries()) {
        const { result } = await wire.call("ListTasks", { contextId, historyLength: 10 }, caller);
        const shared = result.tasks.map(({ id }: Json) => id);
        // The tenant's own key sees all workspaces, each conversation under the name of its own.
        assert.deepEqual(shared, [sent[n].id]);
        for (const other of sent.filter((_, index) => index !== n)) {
          if (n === 0 && other === sent[2]) continue;
          const { error } = await wire.call("SendMessage", { message: reply(other, "me!") }, caller);
          assert.equal(error?.reason, "TASK_NOT_FOUND");
        }
      }
    },
  );

  onEveryBinding("TRC-1 answers to calls with a trace name it with a span of their own", async (wire) => {
    // Given calls with a trace, when they are answered, refused or streamed, then the answer names the same trace with
    // a span of its own.
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    const answers = [
      await wire.call("SendMessage", { message: message("x") }, { headers }),
      await wire.call("GetTask", { id: "task_none" }, { headers }),
      await wire.call("ListTasks", { pageSize: 1 }, { headers }),
      await wire.stream("SendStreamingMessage", { message: message("x") }, { headers }),
    ];
    const spans = answers.map((answer) => {
      const [, trace, span, flags] = answer.headers.get("traceparent")?.split("-") ?? [];
      assert.deepEqual([trace, flags], [traceId, "01"]);
      assert.match(span ?? "", /^[0-9a-f]{16}$/);
      return span;
    });
    assert.equal(new Set([...spans, "b7ad6b7169203331"]).size, answers.length + 1);
  });

  onEveryBinding("TRC-2 a call with a malformed trace is as good as one without", async (wire) => {
    // Given a trace that is malformed, when a call has it, then the call is as good as without one.
    for (const traceparent of [
      "garbage",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
      "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
      "x".repeat(5000),
    ]) {
      const { result, headers } = await wire.call(
        "SendMessage",
        { message: message("x") },
        { headers: { traceparent } },
      );
      assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
      assert.equal(headers.get("traceparent"), null);
    }
  });
});
