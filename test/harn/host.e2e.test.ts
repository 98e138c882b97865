/** Hosts: what an agent asks of them, who is asked, and what becomes of a call when somebody dies. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { randomFrom } from "../runner/seed.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { openSession, openSocket, type TestSocket } from "../support/socket.ts";
import { agents } from "../support/socket-server.ts";

const random = randomFrom();

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config: { agents } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const clipboard = { host_capabilities: ["clipboard.read"] };

async function newSession(): Promise<string> {
  return (await client.createSession()).id;
}

/** A task that has a host read the clipboard and says what it got. */
function readClipboard(sessionId: string, by = client): Promise<Json> {
  return by.submit(sessionId, 'host clipboard.read {"format":"text"}\nreturn done', {
    persona_id: "persona_rehearsal",
  });
}

function mediated(sessionId: string, input: object): Promise<Json> {
  return client.submit(sessionId, "", { persona_id: "persona_mediated", input });
}

function waitsForHost({ waiting_for }: Json): boolean {
  return waiting_for?.kind === "host";
}

function requestsOf(socket: TestSocket): Json[] {
  return socket.seen.filter(({ type }) => type === "request");
}

/** The endings of host steps in the log of a task. */
async function endings(taskId: string, by = client): Promise<Json[]> {
  const events = await by.listAll(`/v1/tasks/${taskId}/events`);
  return events.filter(
    ({ event, payload }) => /^span\.(completed|failed)$/.test(event) && payload.kind === "host",
  );
}

describe("Host calls", () => {
  test("HST-1 a connected host receives the agent's input, and its result reaches the agent", async () => {
    // Given a connected host, when an agent calls it, then it is asked with the input, and the agent gets what it gives.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const request = await host.until("request");
    const { kind, capability, input, task_id, call_id, request_id } = request;
    assert.deepEqual(
      { kind, capability, input, task_id },
      { kind: "host_tool", capability: "clipboard.read", input: { format: "text" }, task_id: task.id },
    );
    assert.equal(request_id, call_id);
    const accepted = await host.command({ type: "host.result", call_id, output: { text: "copied" } });
    assert.deepEqual(accepted, { call_id, task_id: task.id, status: "completed" });
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    assert.ok((await client.texts(sessionId)).includes('Host clipboard.read gave {"text":"copied"}'));
    const [ended] = await endings(task.id);
    assert.equal(ended.payload.step, "host:clipboard.read:1");
    const receipt = (
      await client.get(`/v1/receipts/${(await client.get(`/v1/tasks/${task.id}`)).body.receipt_id}`)
    ).body;
    assert.ok(JSON.stringify(receipt).includes("host:clipboard.read:1"));
  });

  test("HST-1 each call goes to exactly one of the hosts that are capable of it", async () => {
    // Given several hosts, when an agent makes calls, then each call goes to exactly one host that can do it.
    const sessionId = await newSession();
    const hosts = [
      await openSession(client, sessionId, { host_capabilities: ["a", "b"] }),
      await openSession(client, sessionId, { host_capabilities: ["a"] }),
      await openSession(client, sessionId, { host_capabilities: ["c"] }),
      await openSession(client, sessionId),
    ];
    const calls = ["a", "a", "b", "c", "a", "c"].map((capability, input) => ({ capability, input }));
    const task = await mediated(sessionId, { calls });
    const served: Json[] = [];
    const over = client.untilTask(task.id, isFinal).then(() => null);
    // Who has how many of the calls of a depends on who answers first.
    const serve = async (host: TestSocket) => {
      while (true) {
        const request = await Promise.race([host.until("request").catch(() => null), over]);
        if (request === null) return;
        const { call_id, capability, input } = request;
        served.push({ capability, input });
        await host.command({ type: "host.result", call_id, output: `${capability}${input}` });
      }
    };
    await Promise.all(hosts.slice(0, 3).map(serve));
    assert.equal(served.length, calls.length);
    assert.deepEqual(served.map(({ input }) => input).sort(), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(requestsOf(hosts[3] as TestSocket), []);
    const [message] = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).slice(-1);
    assert.deepEqual(message.parts[0].value, ["a0", "a1", "b2", "c3", "a4", "c5"]);
    for (const host of hosts) host.socket.terminate();
  });

  test("HST-1 given a host that cannot, when it says so, then the step fails with its error", async () => {
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    const error = { code: "clipboard_locked", message: "Another program has it." };
    await host.command({ type: "host.result", call_id, error });
    const failed = await client.untilTask(task.id, isFinal);
    assert.equal(failed.status, "FAILED");
    assert.deepEqual(failed.failure, error);
  });

  test("HST-1 large content reaches the host and comes back complete", async () => {
    // Given content that is large, when it goes to the host and back, then it is whole both ways.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const large = "é".repeat(300_000);
    const task = await mediated(sessionId, { calls: [{ capability: "clipboard.read", input: large }] });
    const { call_id, input } = await host.until("request");
    assert.equal(input, large);
    await host.command({ type: "host.result", call_id, output: large });
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    const [message] = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).slice(-1);
    assert.deepEqual(message.parts[0].value, [large]);
  });

  test("HST-2 a second result for an answered call is a conflict, from another session not found", async () => {
    // Given an answered call, when another result comes, then it is a conflict and the first stays; from another session
    // it is not there.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    await using other = await openSession(client, sessionId, clipboard);
    await using stranger = await openSession(client, await newSession(), clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    const result = { type: "host.result", call_id };
    assert.equal((await stranger.refusal({ ...result, output: "foreign" })).code, "resource_not_found");
    const answers = await Promise.all([
      host.ask({ ...result, output: "one" }),
      other.ask({ ...result, output: "two" }),
      host.ask({ ...result, error: { message: "three" } }),
    ]);
    assert.deepEqual(answers.map(({ type }) => type).sort(), ["ack", "error", "error"]);
    for (const { type, error } of answers) if (type === "error") assert.equal(error.code, "conflict");
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    assert.equal((await host.refusal({ ...result, output: "late" })).code, "conflict");
    assert.equal((await endings(task.id)).length, 1);
    const repeated = { ...result, call_id: call_id.replace(":1", ":9"), output: 1 };
    assert.equal((await host.refusal(repeated)).code, "conflict");
  });

  test("HST-2 a result for a canceled task's call is a conflict, and no host is asked any more", async () => {
    // Given a canceled task, when its call is answered, then it is a conflict, and no host is asked any more.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    await client.post(`/v1/tasks/${task.id}/cancel`);
    assert.equal((await host.refusal({ type: "host.result", call_id, output: 1 })).code, "conflict");
    host.socket.terminate();
    await using next = await openSession(client, sessionId, clipboard);
    await next.ask({ type: "ping" });
    assert.deepEqual(requestsOf(next), []);
    assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.waiting_for, null);
  });

  test("HST-3 a call whose host dies moves to another host, and its result counts once", async () => {
    // Given a host that dies in the middle of a call, when another is there or comes, then it is asked the same, and the
    // result counts once.
    const sessionId = await newSession();
    const first = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await first.until("request");
    await using standby = await openSession(client, sessionId, clipboard);
    await using unable = await openSession(client, sessionId, { host_capabilities: ["screen.show"] });
    assert.deepEqual(requestsOf(standby), []);
    first.socket.terminate();
    assert.equal((await standby.until("request")).call_id, call_id);
    standby.socket.terminate();
    await standby.closed;
    await using last = await openSession(client, sessionId, clipboard);
    const again = await last.until("request");
    assert.deepEqual(again.input, { format: "text" });
    // The first host comes back with what it had done, and is the first to say so.
    await using returned = await openSession(client, sessionId, clipboard);
    await returned.command({ type: "host.result", call_id, output: "mine" });
    assert.equal((await last.refusal({ type: "host.result", call_id, output: "too late" })).code, "conflict");
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    assert.ok((await client.texts(sessionId)).includes('Host clipboard.read gave "mine"'));
    assert.equal((await endings(task.id)).length, 1);
    assert.deepEqual(requestsOf(unable), []);
    assert.deepEqual(requestsOf(returned), []);
  });

  test("HST-3 a hundred calls are answered exactly once while hosts come and go at random", async () => {
    // Given hosts that come and go at random, when a hundred calls are made, then each is answered exactly once.
    const sessionId = await newSession();
    const served = new Map<string, number>();
    let isOver = false;
    const host = async () => {
      while (!isOver) {
        await using socket = await openSession(client, sessionId, { host_capabilities: ["count"] });
        for (let n = 0; n < 4 && !isOver; n++) {
          const frame = await socket.until(
            ({ type, event }) => type === "request" || event?.event === "task.completed",
          );
          if (frame.type !== "request") break;
          // Sometimes it dies with the work half done.
          if (random() < 0.3) break;
          const { type } = await socket.ask({
            type: "host.result",
            call_id: frame.call_id,
            output: frame.input,
          });
          if (type === "ack") served.set(frame.call_id, (served.get(frame.call_id) ?? 0) + 1);
        }
      }
    };
    const hosts = [host(), host(), host()];
    const tasks: string[] = [];
    for (let n = 0; n < 5; n++) {
      const calls = Array.from({ length: 20 }, (_, input) => ({ capability: "count", input }));
      tasks.push((await mediated(sessionId, { calls })).id);
    }
    for (const id of tasks) {
      const { status, failure } = await client.untilTask(id, isFinal);
      assert.equal(status, "COMPLETED", JSON.stringify(failure));
    }
    isOver = true;
    await client.rehearse(sessionId, "say over");
    await Promise.all(hosts);
    assert.equal(served.size, 100);
    assert.ok([...served.values()].every((times) => times === 1));
    for (const id of tasks) assert.equal((await endings(id)).length, 20);
  });

  test("HST-4 an open call survives a server kill, is offered again and ends once", async () => {
    // Given a call that is offered, when the server is killed and started again, then the call is still open, is offered
    // again, and ends once.
    await using directory = await temporaryDirectory();
    const first = await startProcess({ data: directory.path });
    const mine = new Client(first);
    const { id: sessionId } = await mine.createSession();
    const host = await openSession(mine, sessionId, clipboard);
    const task = await readClipboard(sessionId, mine);
    const { call_id } = await host.until("request");
    await first.kill();
    await host.closed;

    const second = await startProcess({ data: directory.path });
    const again = new Client(second);
    await using next = await openSession(again, sessionId, clipboard);
    assert.equal((await next.until("request")).call_id, call_id);
    await next.command({ type: "host.result", call_id, output: "after" });
    // Accepted means on disk: it may die again at once.
    await second.kill();
    await using third = await startServer({ data: directory.path });
    const last = new Client(third);
    await last.untilTask(task.id, ({ status }) => status === "COMPLETED");
    assert.ok((await last.texts(sessionId)).includes('Host clipboard.read gave "after"'));
    assert.equal((await endings(task.id, last)).length, 1);
    await third.stop();
    await assertRebuildable(directory.path);
  });

  test("HST-5 a task without a host says what it waits for and how long, and asks a new host", async () => {
    // Given no host, when an agent calls one, then the task says what it waits for and until when, and a host that comes
    // is asked.
    const sessionId = await newSession();
    const task = await readClipboard(sessionId);
    const { waiting_for, status } = await client.untilTask(task.id, waitsForHost);
    assert.equal(status, "WORKING");
    assert.match(waiting_for.description, /clipboard\.read/);
    const days = (Date.parse(waiting_for.until) - Date.now()) / 86_400_000;
    assert.ok(days > 6.9 && days <= 7);
    await using host = await openSession(client, sessionId, clipboard);
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: 1 });
    await client.untilTask(task.id, ({ status: now }) => now === "COMPLETED");
  });

  test("HST-5 a call that passes its deadline fails its step, and a late result is a conflict", async () => {
    // Given a call with a deadline, when nobody does it in time, then the step fails saying so, and a late result is a
    // conflict.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, { host_capabilities: ["slow"] });
    const calls = [{ capability: "slow" }, { capability: "nobody" }];
    for (const expires_in_ms of [30, 1500]) {
      const task = await mediated(sessionId, { calls, expires_in_ms });
      const { call_id } = await host.until("request");
      await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
      const [message] = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).slice(-1);
      assert.deepEqual(
        message.parts[0].value.map(({ code }: Json) => code),
        ["deadline_exceeded", "deadline_exceeded"],
      );
      assert.match(message.parts[0].value[1].message, /No host did nobody before 2/);
      assert.equal((await host.refusal({ type: "host.result", call_id, output: 1 })).code, "conflict");
      assert.equal((await endings(task.id)).length, 2);
    }
  });

  test("HST-5 calls beyond a task's limit of concurrent calls fail, and the others are served", async () => {
    // Given more calls at once than a task may wait for, when they are made, then those beyond fail and the others are
    // served.
    const sessionId = await newSession();
    const calls = Array.from({ length: 40 }, () => ({ capability: "many" }));
    const task = await mediated(sessionId, { calls });
    await client.untilTask(task.id, waitsForHost);
    await using host = await openSession(client, sessionId, { host_capabilities: ["many"] });
    for (let n = 0; n < 32; n++) {
      const { call_id } = await host.until("request");
      host.send({ type: "host.result", call_id, output: n });
    }
    await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
    const [message] = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).slice(-1);
    const refused = message.parts[0].value.filter((value: Json) => value.code === "too_many_host_calls");
    assert.equal(refused.length, 8);
  });

  test("HST-6 a replay takes a host's answer from the log or the override and asks no host", async () => {
    // Given a task that called a host, when it is replayed, then the host's answer comes from the log, or is the one
    // that was given, and no host is asked.
    const sessionId = await newSession();
    const host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: "recorded" });
    await client.untilTask(task.id, isFinal);
    const replay = async (body: object) => {
      const answer = await client.post(`/v1/tasks/${task.id}/replay`, body, { prefer: "wait=20" });
      assert.equal(answer.status, 202, JSON.stringify(answer.body));
      return answer.body;
    };
    const saidBy = async ({ id }: Json) =>
      (await client.listAll(`/v1/tasks/${id}/events`))
        .filter(({ event }) => event === "agent.message")
        .map(({ payload }) => payload.message.parts[0].text);
    const exact = await replay({});
    assert.equal(exact.status, "COMPLETED", JSON.stringify(exact.failure));
    assert.deepEqual(await saidBy(exact), ['Host clipboard.read gave "recorded"', "done"]);
    for (const key of ["host:clipboard.read:1", "host:clipboard.read"]) {
      const given = await replay({
        mode: "with_overrides",
        override: { [key]: { kind: "host_fact", value: "given" } },
      });
      assert.equal(given.status, "COMPLETED", JSON.stringify(given.failure));
      assert.deepEqual(await saidBy(given), ['Host clipboard.read gave "given"', "done"]);
    }
    assert.equal(requestsOf(host).length, 1);
    host.socket.terminate();
  });

  test("HST-6 replaying a task canceled awaiting a host names the missing answer unless overridden", async () => {
    // Given a task that was canceled while it waited for a host, when it is replayed, then it says what is missing,
    // unless it is given.
    const sessionId = await newSession();
    const task = await readClipboard(sessionId);
    await client.untilTask(task.id, waitsForHost);
    await client.post(`/v1/tasks/${task.id}/cancel`);
    await using host = await openSession(client, sessionId, clipboard);
    const missing = await client.post(`/v1/tasks/${task.id}/replay`, {}, { prefer: "wait=20" });
    assert.equal(missing.body.failure.code, "replay_dependency_unavailable");
    assert.equal(missing.body.failure.details.dependency.key, "host:clipboard.read:1");
    const override = { "host:clipboard.read:1": { kind: "host_fact", value: "given" } };
    const given = await client.post(
      `/v1/tasks/${task.id}/replay`,
      { mode: "with_overrides", override },
      { prefer: "wait=20" },
    );
    assert.equal(given.body.status, "COMPLETED", JSON.stringify(given.body.failure));
    assert.deepEqual(requestsOf(host), []);
  });

  test("HST-7 a key without the scope to write tasks cannot be a host but can still listen", async () => {
    // Given a key that may not write tasks, when it wants to be a host, then it may not, and it may still listen.
    const reader = await client.withScopes("events:read", "sessions:read");
    await using socket = await openSocket(reader, `/v1/sessions/${await newSession()}/ws`);
    const error = await socket.refusal({ type: "hello", ...clipboard });
    assert.equal(error.code, "permission_denied");
    assert.equal(error.details.required_scope, "tasks:write");
    assert.equal((await socket.ask({ type: "hello" })).type, "ready");
  });

  test("HST-7 a hello with invalid capability names is rejected naming the field", async () => {
    // Given capabilities that are no names, when hello says them, then it is refused naming the field.
    await using socket = await openSocket(client, `/v1/sessions/${await newSession()}/ws`);
    for (const capabilities of ["all", [5], ["a b"], [""], ["x:1"], Array(101).fill("a")]) {
      const error = await socket.refusal({ type: "hello", host_capabilities: capabilities });
      assert.equal(error.code, "invalid_request");
      assert.match(error.param, /^host_capabilities/);
    }
  });

  test("HST-7 a reader without the internal scope sees that a host call happened, not its content", async () => {
    // Given a reader without the scope for internal content, when a host call is in the log, then it sees that there was
    // one and not what was in it.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: { text: "private words" } });
    await client.untilTask(task.id, isFinal);
    const reader = await client.withScopes("events:read", "tasks:read");
    const events = await reader.listAll(`/v1/tasks/${task.id}/events`);
    const started = events.find(({ event }) => event === "span.started");
    assert.equal(started.payload.host_call.input.redacted, true);
    const completed = events.find(({ event }) => event === "span.completed");
    assert.equal(completed.payload.result.output.redacted, true);
    const whole = await client.listAll(`/v1/tasks/${task.id}/events`);
    assert.deepEqual(whole.find(({ event }) => event === "span.started").payload.host_call.input, {
      format: "text",
    });
  });

  test("HST-7 a credential in a host's answer reaches neither the log nor the agent", async () => {
    // Given a host that answers with a credential, when it is recorded, then the credential is not in the log and the
    // agent does not get it.
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, clipboard);
    const task = await readClipboard(sessionId);
    const { call_id } = await host.until("request");
    const secret = `ghp_${"a1B2".repeat(9)}`;
    await host.command({ type: "host.result", call_id, output: { token: secret } });
    await client.untilTask(task.id, isFinal);
    const log = JSON.stringify(await client.listAll(`/v1/sessions/${sessionId}/events`));
    assert.ok(!log.includes(secret));
    assert.ok(log.includes("[redacted:"));
  });

  test("HST-7 a call to a capability the persona does not list fails its step and asks no host", async () => {
    // Given a persona that does not list a capability, when its agent asks a host for it, then no host is asked and the
    // step fails.
    const { status, body: persona } = await client.post("/v1/personas", {
      name: "Bound",
      version: "1",
      entry_workflow: "mediated",
      description: "May read the clipboard.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      capabilities: ["clipboard.*"],
    });
    assert.equal(status, 201, JSON.stringify(persona));
    const sessionId = await newSession();
    await using host = await openSession(client, sessionId, {
      host_capabilities: ["clipboard.read", "shell.run"],
    });
    const calls = [{ capability: "shell.run" }, { capability: "clipboard.read" }];
    const task = await client.submit(sessionId, "", { persona_id: persona.id, input: { calls } });
    const { call_id, capability } = await host.until("request");
    assert.equal(capability, "clipboard.read");
    await host.command({ type: "host.result", call_id, output: "text" });
    await client.untilTask(task.id, isFinal);
    const [message] = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).slice(-1);
    assert.equal(message.parts[0].value[0].code, "policy_violation");
    assert.equal(message.parts[0].value[1], "text");
    assert.equal(requestsOf(host).length, 1);
  });

  test("HST-7 a script line that calls a host with invalid JSON is named in the error", async () => {
    // Given a line of a script that calls a host with no JSON, when it is read, then the line is named.
    const failed = await client.rehearse(await newSession(), "say fine", "host clipboard.read {broken");
    assert.equal(failed.failure.code, "bad_instruction");
    assert.match(failed.failure.message, /^Line 2/);
    const nameless = await client.rehearse(await newSession(), "host no:name 5");
    assert.equal(nameless.failure.code, "invalid_capability");
  });
});
