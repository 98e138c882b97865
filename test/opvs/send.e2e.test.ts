/** Sending messages: what comes back, and what the same message sent again does. */

import assert from "node:assert/strict";
import type { Json } from "../support/client.ts";
import { begin, cancel, get, keyOf, play, rehearsal, reply, script, sleepLong, textsOf } from "./play.ts";
import { everyBinding, message, type Wire } from "./wire.ts";

const pixel = Buffer.from("not really a picture").toString("base64");

async function tasksIn(wire: Wire, contextId: string): Promise<Json[]> {
  const { result } = await wire.call("ListTasks", { contextId });
  return result.tasks;
}

everyBinding("sending a message", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-1 OPVS-2 OPVS-3 a sent message is answered with the ended task alone",
    async (wire) => {
      // Given a message, when it is sent, then the answer is the ended task alone, with what came of it.
      const { result } = await wire.call("SendMessage", { message: message("hello") });
      assert.deepEqual(Object.keys(result), ["task"]);
      assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
      assert.deepEqual(result.task.artifacts, [
        { artifactId: "result", name: "result", parts: [{ text: "hello" }] },
      ]);
    },
  );

  onEveryBinding("OPVS-1 an agent that answers with a message gives that message alone", async (wire) => {
    // Given an agent that answers with a message, when one is sent to it, at once or not, then the answer is that
    // message alone.
    for (const configuration of [{}, { returnImmediately: true }]) {
      const { result } = await wire.call(
        "SendMessage",
        { message: message("hello"), configuration },
        { agent: "messenger" },
      );
      assert.deepEqual(Object.keys(result), ["message"]);
      const { role, parts, taskId } = result.message;
      assert.deepEqual([role, parts, taskId], ["ROLE_AGENT", [{ text: "You said hello" }], undefined]);
    }
  });

  onEveryBinding("OPVS-2 OPVS-3 a waiting send gets the resting state and artifacts", async (wire) => {
    // Given scripts that end in every way, when each is sent and waited for, then the answer has the state in which it
    // rests and all artifacts.
    const ends = {
      COMPLETED: "return fine",
      FAILED: "fail no luck",
      REJECTED: "reject not my work",
      INPUT_REQUIRED: "ask which one?",
      AUTH_REQUIRED: "approve spending",
    };
    for (const [state, line] of Object.entries(ends)) {
      const task = await play(wire, "artifact a.txt first", "stream 2", line);
      assert.equal(task.status.state, `TASK_STATE_${state}`);
      const texts = textsOf(task.artifacts).slice(0, 2);
      assert.deepEqual(texts, ["first", "chunk 1 of 2\nchunk 2 of 2\n"]);
      assert.deepEqual(await get(wire, task), task, "and so it is afterwards");
      if (state !== "COMPLETED") assert.equal(task.status.message.role, "ROLE_AGENT");
    }
  });

  onEveryBinding("OPVS-2 clients that answer at once are each answered when the task rests", async (wire) => {
    // Given a task that asks again and again, when several clients answer at once and wait, then each is answered when
    // the task rests, never in between.
    const questions = Array.from({ length: 25 }, (_, n) => `ask ${n}?`);
    const task = await play(wire, ...questions, "return done");
    const states = new Set<string>();
    const answerAll = async (name: string) => {
      for (let n = 0; ; n++) {
        const { result, error } = await wire.call("SendMessage", { message: reply(task, `${name} ${n}`) });
        if (error !== undefined) return assert.equal(error.reason, "UNSUPPORTED_OPERATION", error.message);
        states.add(result.task.status.state);
      }
    };
    await Promise.all(["a", "b", "c"].map(answerAll));
    assert.deepEqual([...states].toSorted(), ["TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED"]);
  });

  onEveryBinding("OPVS-4 returnImmediately is answered while the work runs", async (wire) => {
    // Given work that takes long, when it is sent with returnImmediately, then the answer comes while it runs.
    const task = await begin(wire, sleepLong);
    assert.match(task.status.state, /^TASK_STATE_(SUBMITTED|WORKING)$/);
    assert.match((await get(wire, task)).status.state, /^TASK_STATE_(SUBMITTED|WORKING)$/);
    assert.equal((await cancel(wire, task)).status.state, "TASK_STATE_CANCELED");
  });

  onEveryBinding("OPVS-5 a message to an ended task is UnsupportedOperation", async (wire) => {
    // Given tasks that ended in every way, when a message goes to one of them, sent or streamed, then it is
    // UnsupportedOperation and changes nothing.
    const ended = [
      await play(wire, "return fine"),
      await play(wire, "fail no luck"),
      await play(wire, "reject no"),
      await cancel(wire, await begin(wire, sleepLong)),
    ];
    for (const { id } of ended) {
      const before = await get(wire, { id });
      const refused = await wire.call("SendMessage", { message: reply({ id }, "more") });
      const stream = await wire.stream("SendStreamingMessage", { message: reply({ id }, "more") });
      for (const { error } of [refused, stream]) assert.equal(error?.reason, "UNSUPPORTED_OPERATION");
      assert.deepEqual(await get(wire, { id }), before);
    }
  });

  onEveryBinding(
    "OPVS-6 a part of another type is ContentTypeNotSupported, nothing is made",
    async (wire) => {
      // Given an agent that takes plain text, when a message has a part of another type, then it is
      // ContentTypeNotSupported and nothing is made.
      const to = { agent: "plain" };
      const contextId = `types ${crypto.randomUUID()}`;
      const refused = [
        { raw: pixel, mediaType: "image/png" },
        { raw: pixel },
        { data: { a: 1 } },
        { text: "<p>", mediaType: "text/html" },
        { url: "https://example.com/a.pdf", mediaType: "application/pdf" },
      ];
      for (const part of refused) {
        const said = message("and this", { contextId, parts: [{ text: "look" }, part] });
        for (const { error } of [
          await wire.call("SendMessage", { message: said }, to),
          await wire.call("SendMessage", { message: said, configuration: { returnImmediately: true } }, to),
        ]) {
          assert.equal(error?.reason, "CONTENT_TYPE_NOT_SUPPORTED", JSON.stringify(part));
        }
      }
      assert.deepEqual(await tasksIn(wire, contextId), []);
      for (const mediaType of ["", "text/plain", "TEXT/PLAIN; charset=utf-8"]) {
        const said = message("", { contextId, parts: [{ text: "look", mediaType }] });
        const { result } = await wire.call("SendMessage", { message: said }, to);
        assert.equal(result.task.status.state, "TASK_STATE_COMPLETED");
      }
      assert.equal((await tasksIn(wire, contextId)).length, 3);
    },
  );

  onEveryBinding(
    "OPVS-13 a history length gives at most so many of the latest, oldest first",
    async (wire) => {
      // Given a conversation of several turns, when some length of its history is asked for, then at most so many of the
      // latest come, oldest first.
      const asked = await play(wire, "say one", "ask two?", "say three", sleepLong);
      const configuration = { returnImmediately: true, historyLength: 1 };
      const { result } = await wire.call("SendMessage", { message: reply(asked, "yes"), configuration });
      assert.equal(result.task.history.length, 1);
      await using stream = await wire.stream("SubscribeToTask", { id: asked.id });
      let all: string[] = textsOf((await stream.next()).task.history);
      while (!all.includes("three")) all = textsOf((await get(wire, asked)).history);
      assert.equal(all[0], `say one\nask two?\nsay three\n${sleepLong}`);
      assert.deepEqual(
        all.filter((text) => ["one", "yes", "You said: yes", "three"].includes(text)),
        ["one", "yes", "You said: yes", "three"],
      );
      for (const historyLength of [1, 2, 3, 100]) {
        const { history } = await get(wire, asked, { historyLength });
        assert.deepEqual(textsOf(history), all.slice(-historyLength));
        const listed = await wire.call("ListTasks", { contextId: asked.contextId, historyLength });
        assert.deepEqual(textsOf(listed.result.tasks[0].history), all.slice(-historyLength));
      }
      assert.equal("history" in (await get(wire, asked, { historyLength: 0 })), false);
      await cancel(wire, asked);
      await using none = await wire.stream(
        "SendStreamingMessage",
        { message: script("return x"), configuration: { historyLength: 0 } },
        rehearsal,
      );
      assert.equal("history" in (await none.next()).task, false);
    },
  );

  onEveryBinding("OPVS-13 a negative history length is refused by the name of the field", async (wire) => {
    // Given a negative length, when history is asked for anywhere, then it is refused by the name of the field.
    const configuration = { historyLength: -1 };
    for (const { error } of [
      await wire.call("GetTask", { id: "task_none", historyLength: -1 }),
      await wire.call("ListTasks", { historyLength: -1 }),
      await wire.call("SendMessage", { message: message("x"), configuration }),
      await wire.stream("SendStreamingMessage", { message: message("x"), configuration }),
    ]) {
      assert.equal(error?.status, "INVALID_ARGUMENT");
      assert.match(error.details[0].fieldViolations[0].field, /historyLength$/);
    }
  });

  onEveryBinding("DED-1 a message sent again in any way makes one task for everybody", async (wire) => {
    // Given a message, when it is sent again, one after the other and many at once, sent or streamed, then there is one
    // task and everybody gets it.
    const contextId = `again ${crypto.randomUUID()}`;
    const said = script("say once", "return done");
    const request = { message: { ...said, contextId } };
    const sent = await Promise.all(
      Array.from({ length: 20 }, () => wire.call("SendMessage", request, rehearsal)),
    );
    sent.push(await wire.call("SendMessage", request, rehearsal));
    const ids = new Set(sent.map(({ result }) => result.task.id));
    assert.equal(ids.size, 1);
    for (const { result } of sent) assert.deepEqual(result, sent[0]?.result);
    await using stream = await wire.stream("SendStreamingMessage", request, rehearsal);
    const events = await stream.rest();
    assert.equal(events[0].task.id, sent[0]?.result.task.id);
    assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
    assert.equal((await tasksIn(wire, contextId)).length, 1);
  });

  onEveryBinding("DED-1 a message whose data has another order of members is the same", async (wire) => {
    // Given a message with free data, when it is sent again with the members of the data in another order, then there
    // is one task.
    const said = message("data", { metadata: { a: 1, b: { c: 2, d: 3 } } });
    const first = await wire.call("SendMessage", { message: said });
    const again = { ...said, metadata: { b: { d: 3, c: 2 }, a: 1 } };
    const second = await wire.call("SendMessage", { message: again });
    assert.equal(second.result.task.id, first.result.task.id);
  });

  onEveryBinding(
    "DED-2 another message with the id, or another tenant's, is other work",
    async (wire, { server }) => {
      // Given a message, when another one has the same id, or the same one comes from another tenant, then it is other
      // work.
      const said = message("first");
      const first = await wire.call("SendMessage", { message: said });
      const other = await wire.call("SendMessage", { message: { ...said, parts: [{ text: "second" }] } });
      assert.notEqual(first.result.task.id, other.result.task.id);
      assert.deepEqual(textsOf(other.result.task.artifacts), ["second"]);
      const key = await keyOf(server, "tenant_other");
      const foreign = await wire.call("SendMessage", { message: said }, { key });
      assert.notEqual(foreign.result.task.id, first.result.task.id);
    },
  );

  onEveryBinding("DED-3 an answer sent again does not answer the second question", async (wire) => {
    // Given a task that asks twice, when the answer to the first question is sent again and again, then it does not
    // answer the second.
    const task = await play(wire, "ask first?", "ask second?", "return done");
    const answer = { message: reply(task, "one") };
    const answers = await Promise.all(Array.from({ length: 10 }, () => wire.call("SendMessage", answer)));
    answers.push(await wire.call("SendMessage", answer));
    for (const { result } of answers) {
      assert.equal(result.task.status.state, "TASK_STATE_INPUT_REQUIRED");
      assert.deepEqual(textsOf([result.task.status.message]), ["second?"]);
    }
    const ended = await wire.call("SendMessage", { message: reply(task, "two") });
    assert.equal(ended.result.task.status.state, "TASK_STATE_COMPLETED");
    const said = textsOf(ended.result.task.history);
    assert.deepEqual(
      said.filter((text) => text.startsWith("You said")),
      ["You said: one", "You said: two"],
    );
    const late = await wire.call("SendMessage", answer);
    assert.equal(late.result.task.status.state, "TASK_STATE_COMPLETED", "also when it has ended");
  });
});
