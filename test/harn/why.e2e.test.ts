/** Why a task waits or ended, in one sentence: each kind of waiting that there is, brought about for real. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { showingAgents } from "../support/agents-server.ts";
import { Client, errorOf, type Json, until, userMessage } from "../support/client.ts";
import { createPersona, createQuota } from "../support/policy.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const aDayMs = 24 * 60 * 60 * 1000;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;
let sessionId: string;

function start(versions: string): Promise<TestServer> {
  const agents = showingAgents({
    AGENT_NOTES: join(directory.path, "notes"),
    AGENT_GATE: join(directory.path, "gate"),
    AGENT_VERSIONS: versions,
  });
  const data = join(directory.path, "data");
  return startServer({ data, flags: ["--concurrency", "1"], config: { agents } });
}

before(async () => {
  directory = await temporaryDirectory();
  server = await start("1.0.0");
  client = new Client(server);
  sessionId = (await client.createSession()).id;
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

async function submit(agent: string, input: object, fields: object = {}): Promise<Json> {
  const body = { session_id: sessionId, persona_id: `persona_${agent}`, input, ...fields };
  const answer = await client.post("/v1/tasks", body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

function rehearse(...lines: string[]): Promise<Json> {
  return submit("rehearsal", userMessage(lines.join("\n")));
}

async function why({ id }: Json, by = client): Promise<Json> {
  const { status, body } = await by.get(`/v1/tasks/${id}/why`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.object, body.task_id], ["task_explanation", id]);
  return body;
}

/** The explanation once it is of this kind. */
function whyOnce(task: Json, kind: string | null): Promise<Json> {
  return until(
    () => why(task),
    ({ waits_for }) => waits_for === kind,
  );
}

describe("Why a task waits", () => {
  test("WHY-1 explains a question with its text, start and expiry", async () => {
    // Given a question, when it is asked why, then it is the question, since it was put and until it expires.
    const task = await client.rehearse(sessionId, "ask Where to?");
    const { sentence, since, until: expires, waits_for, what_helps, status } = await why(task);
    assert.deepEqual([waits_for, status, what_helps], ["input", "INPUT_REQUIRED", ["Answer the question."]]);
    assert.match(
      sentence,
      /^The task asked "Where to\?" and waits for the answer, until \d{4}-.* UTC at the latest\.$/,
    );
    assert.equal(expires, task.waiting_for.until);
    assert.ok(since >= task.created_at && since < expires);
  });

  test("WHY-1 explains a permission request with its action, risk and count of approvals", async () => {
    // Given requests for permission, when it is asked why, then it is what is to be done, how risky that is, and how
    // many agreed of how many.
    const task = await client.rehearse(sessionId, "approve Send the letter");
    const plain = await why(task);
    assert.match(plain.sentence, /permission to "Send the letter" \(risk: \w+\): it has 0 of 1 approval, /);
    assert.deepEqual(plain.about, [
      { object: "permission_request", id: task.waiting_for.permission_request_id },
    ]);
    const persona = await createPersona(client, {
      entry_workflow: "rehearsal",
      approval_policy: { channel: "harp", quorum: 2 },
    });
    const signed = await submit("", userMessage("approve Fire it"), { persona_id: persona.id });
    const { sentence, what_helps } = await whyOnce(signed, "approval");
    assert.match(sentence, /it has 0 of 2 approvals/);
    assert.match(what_helps.join(" "), /only signatures count here\. Pair an approver/);
  });

  test("WHY-1 explains a sleep, a child task and a host call with what each waits for", async () => {
    // Given a sleep, a child and a host call, when it is asked why, then it is the time, the other task, and what a host
    // has to do.
    const asleep = await whyOnce(await rehearse(`sleep ${aDayMs}`), "timer");
    assert.match(asleep.sentence, /^The task sleeps until /);
    assert.ok(Date.parse(asleep.until) > Date.now());

    const parent = await submit("director", { scripts: ["ask Ready?", `sleep ${aDayMs}`] });
    const waiting = await whyOnce(parent, "child");
    assert.equal(waiting.about.length, 2);
    assert.match(
      waiting.sentence,
      /^The task waits for task task_\S+ of rehearsal, which is \w+ and task task_/,
    );
    const [{ id }] = waiting.about;
    assert.equal((await whyOnce({ id }, "input")).waits_for, "input");

    const hosted = await whyOnce(await rehearse('host clipboard.read {"format":"text"}'), "host");
    assert.match(hosted.sentence, /waits for a host that does clipboard\.read, until /);
  });

  test("WHY-1 explains an exhausted budget with the quota, its use and the person asked", async () => {
    // Given a budget that is used up, when it is asked why, then it is the quota, what is used of it, and that a person
    // is asked.
    const quota = await createQuota(client, {
      limits: { output_tokens: 10 },
      on_exhaustion: "ask",
      reset_window: "day",
    });
    const persona = await createPersona(client, { entry_workflow: "rehearsal", quota_id: quota.id });
    const task = await submit("", userMessage("spend 100"), { persona_id: persona.id });
    const { sentence, what_helps, about } = await whyOnce(task, "quota");
    assert.match(sentence, new RegExp(`limit of quota ${quota.id} \\(0 of 10 output_tokens are used\\)`));
    assert.match(what_helps.join(" "), /starts anew at/);
    assert.ok(about.some(({ object, id }: Json) => object === "quota" && id === quota.id));
    const reader = await client.withScopes("tasks:read");
    const told = await why(task, reader);
    assert.doesNotMatch(told.what_helps.join(" "), /starts anew at/);
  });

  test("WHY-1 explains a running task with its step and a queued one with its turn", async () => {
    // Given a server that runs one task at a time, when one is at work, then it says which step it runs, and the next
    // one that it waits for its turn.
    const first = await submit("busy", userMessage("first"));
    const working = await whyOnce(first, "step");
    await until(
      () => why(first),
      ({ sentence }) => /it runs the step work, since /.test(sentence),
    );
    assert.deepEqual([working.until, working.what_helps], [null, []]);
    const second = await submit("busy", userMessage("second"));
    const queued = await whyOnce(second, "queue");
    assert.match(
      queued.sentence,
      /^The task waits for its turn: 1 run is in memory, which is as many as may be at once, and \d+ tasks? (?:is|are) in the queue\.$/,
    );
    assert.match(queued.what_helps.join(" "), /Raise the concurrency/);
    writeFileSync(join(directory.path, "gate"), "");
    await whyOnce(second, null);
  });
});

describe("Why a task ended", () => {
  test("WHY-2 explains how a task ended, by whom, and what to do", async () => {
    // Given tasks that ended well, failed and were canceled, when it is asked why, then it is said how, by whom, and
    // what to do.
    const done = await why(await client.rehearse(sessionId, "say Hello", "return All of it"));
    assert.deepEqual([done.waits_for, done.status, done.what_helps], [null, "COMPLETED", []]);
    assert.match(done.sentence, /^The task is done: /);

    const failed = await why(await client.rehearse(sessionId, "fail The pump is broken"));
    assert.equal(failed.sentence, "The task failed with rehearsed_failure: The pump is broken.");
    assert.match(failed.what_helps.join(" "), /who wrote rehearsal knows/);
    assert.equal(failed.docs, null);

    const late = await client.untilTask(
      (await submit("hurried", { kind: "ask", ms: 10 })).id,
      ({ status }) => status === "FAILED",
    );
    const expired = await why(late);
    assert.match(expired.sentence, /^The task failed with deadline_exceeded: Nobody answered "Anybody\?"/);
    assert.equal(expired.docs, "docs/errors/deadline_exceeded.md");
    assert.match(expired.what_helps.join(" "), /docs\/errors\/deadline_exceeded\.md/);

    const parent = await submit("director", { scripts: [`sleep ${aDayMs}`] });
    const { about } = await whyOnce(parent, "child");
    const ada = client.as((await client.createKey({ actor: "ada" })).key);
    await ada.post(`/v1/tasks/${parent.id}/cancel`, { reason: "No longer needed" });
    const canceled = await why(parent);
    assert.match(canceled.sentence, /^The task was canceled by \S*ada\S*: No longer needed\.$/);
    const child = await whyOnce(about[0], null);
    assert.match(child.sentence, new RegExp(`The parent task ${parent.id} was canceled`));
  });

  test("WHY-3 a task the caller may not see is not found, a missing scope is forbidden", async () => {
    // Given a task of others, when somebody who may not see it asks why, then it is not there, and without the scope it
    // is forbidden.
    const task = await client.rehearse(sessionId, "say Hello");
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    errorOf(await stranger.get(`/v1/tasks/${task.id}/why`), 404);
    errorOf(await (await client.withScopes("sessions:read")).get(`/v1/tasks/${task.id}/why`), 403);
  });
});

test("WHY-1 explains an agent version not loaded after a restart and names the loaded ones", async () => {
  // Given a task whose version of its agent is not loaded after a restart, when it is asked why, then it is that
  // version, and what is loaded.
  const task = await submit("versioned", {});
  await whyOnce(task, "input");
  await server.stop();
  server = await start("2.0.0");
  client = new Client(server);
  const before = await why(task);
  assert.match(before.what_helps.join(" "), /Load the agent versioned, which is not loaded here/);
  assert.equal((await client.answer(task.id, "yes")).status, 201);
  const { sentence, what_helps } = await whyOnce(task, "agent");
  assert.equal(
    sentence,
    "The task waits for version 1.0.0 of the agent versioned, which is not loaded here; what is loaded is 2.0.0.",
  );
  assert.match(what_helps.join(" "), /Load version 1\.0\.0/);
});
