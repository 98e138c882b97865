/** Prompts at a real server: delivered once, letter for letter, to sessions that the sender may see. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { verifyAudit } from "../../src/harp/core/audit.ts";
import { promptBytesMax } from "../../src/harp/core/prompt.ts";
import { startServer as startInProcess } from "../../src/server/server.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable, readWholeLog } from "../support/log.ts";
import { ackOf, harpCall, harpErrorOf, promptFor, sendPrompt } from "../support/prompts.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";

/** Long enough ago for any skew. */
const longAgo = "2026-02-21T12:01:30Z";
const published = {
  requestId: "01J2V9K3M2W1J5R6S7T8U9V0W1",
  sessionId: "01J2V8V3M2YF0KX9Q0Z7E6H9R1",
  repoRef: "repo:acme/widgets",
  artifactType: "prompt.send",
  createdAt: "2026-02-21T12:01:00Z",
  target: "agentChat",
  text: "Please summarize the plan and list risks. Keep it concise.",
  promptHashAlg: "SHA-256",
  promptHash: "0b18f65f2e4d81b0bbfa89267138163a439ee2381393f95b41f01fbdfdbabd50",
} as const;

async function auditOf(client: Client): Promise<Json[]> {
  const answer = await fetch(`${client.url}/v1/approvals/audit`, { headers: client.headers() });
  const body = await answer.text();
  const records = body
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal((await verifyAudit(records)).valid, true);
  return records;
}

async function tasksOf(client: Client, sessionId: string): Promise<Json[]> {
  return await client.listAll(`/v1/tasks?session_id=${sessionId}`);
}

describe("prompts", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("a prompt reaches the agent verbatim in a task of its session", async () => {
    // Given a prompt for a session, when it is sent, then the agent gets exactly its text, in a task of the session.
    const text = '  é́ \u2028<b>😀\r\n\u0001 "quoted" \\ ';
    for (const target of ["agentChat", "composer"] as const) {
      const { id, workspace_id } = await client.createSession();
      const prompt = await promptFor(id, { text, target, repoRef: `workspace:${workspace_id}` });
      const { status, details } = ackOf(await sendPrompt(client, prompt), prompt);
      assert.equal(status, "delivered");
      const task = await client.untilTask(details.taskId, isFinal);
      assert.deepEqual([task.status, task.session_id], ["COMPLETED", id]);
      assert.deepEqual(await client.texts(id), [text, text], "what was said, and its echo");
    }
  });

  test("HARP-114 the published prompt passes its hash check and lacks only its session", async () => {
    // Given the published prompt, when it is sent, then its hash is right, and only the session is not there.
    const { status, details } = ackOf(await sendPrompt(client, published), published);
    assert.equal(status, "rejected");
    assert.equal(details.code, "HARP_ERR_POLICY_DENY");
    const text = `${published.text} `;
    harpErrorOf(await sendPrompt(client, { ...published, text }), 422, "HARP_ERR_HASH_MISMATCH");
  });

  test("HARP-115 a repeated prompt, concurrent or later, returns the same answer and one task", async () => {
    // Given a prompt that was delivered, when it comes again, at the same time and later, then the answer is the same
    // and there is one task.
    const { id } = await client.createSession();
    const prompt = await promptFor(id);
    const answers = await Promise.all(Array.from({ length: 8 }, () => sendPrompt(client, prompt)));
    await client.post(`/v1/sessions/${id}/close`);
    answers.push(await sendPrompt(client, prompt));
    const acks = answers.map((answer) => ackOf(answer, prompt));
    const [task, ...others] = await tasksOf(client, id);
    assert.deepEqual(others, []);
    for (const ack of acks) assert.deepEqual(ack, { status: "delivered", details: { taskId: task.id } });
  });

  test("HARP-116 a prompt with another's id or a wrong hash is rejected and not delivered", async () => {
    // Given a prompt with another's id or a hash that is not its own, when it is sent, then it is refused and not
    // delivered.
    const { id } = await client.createSession();
    const prompt = await promptFor(id);
    ackOf(await sendPrompt(client, prompt), prompt);
    const other = await promptFor(id, { requestId: prompt.requestId, text: "Something else." });
    const forged = { ...(await promptFor(id)), promptHash: "0".repeat(64) };
    const changed = { ...(await promptFor(id)), metadata: {} };
    for (const wrong of [other, forged, changed]) {
      const { code, retryable } = harpErrorOf(await sendPrompt(client, wrong), 422, "HARP_ERR_HASH_MISMATCH");
      assert.deepEqual([code, retryable], ["HashMismatch", false]);
    }
    assert.equal((await tasksOf(client, id)).length, 1);
  });

  test("HARP-117 expired, oversized, misaddressed and future prompts are not delivered", async () => {
    // Given prompts that expired, are too large, for nobody here or from the future, when they are sent, then none is
    // delivered.
    const { id } = await client.createSession();
    const send = async (changes: object) => {
      const prompt = await promptFor(id, changes);
      return { prompt, answer: await sendPrompt(client, prompt) };
    };
    const expired = await send({ extensions: { harpPrompt: { expiresAt: longAgo }, other: { any: 1 } } });
    assert.deepEqual(ackOf(expired.answer, expired.prompt), { status: "expired", details: undefined });
    for (const target of ["tool", "other"] as const) {
      const { answer } = await send({ target });
      harpErrorOf(answer, 400, "HARP_PROMPT_ERR_TARGET_UNSUPPORTED");
    }
    const { answer: large } = await send({ text: "x".repeat(promptBytesMax) });
    harpErrorOf(large, 413, "HARP_PROMPT_ERR_TOO_LARGE");
    const { answer: huge } = await send({ text: "x".repeat(4 * promptBytesMax) });
    assert.equal(harpErrorOf(huge, 413).code, "PayloadTooLarge");
    const { answer: early } = await send({ createdAt: new Date(Date.now() + 3_600_000).toISOString() });
    harpErrorOf(early, 400, "HARP_ERR_EXPIRED");
    assert.deepEqual(await tasksOf(client, id), []);
    const fits = await send({ text: "é".repeat(100_000) });
    const escaped = JSON.stringify(fits.prompt).replaceAll("é", "\\u00e9");
    assert.equal(ackOf(fits.answer, fits.prompt).status, "delivered");
    assert.equal(
      ackOf(await sendPrompt(client, escaped), fits.prompt).status,
      "delivered",
      "the same prompt",
    );
    assert.equal((await tasksOf(client, id)).length, 1);
  });

  test("HARP-117 policy rejects prompts for closed, foreign or missing sessions, keeping nothing", async () => {
    // Given sessions that are closed, elsewhere or not there, when a prompt is for them, then policy rejects it, and
    // nothing of it is kept.
    const { id } = await client.createSession();
    const closed = (await client.createSession()).id;
    await client.post(`/v1/sessions/${closed}/close`);
    const { sessionId: _, ...nowhere } = await promptFor(id);
    const refused = [
      await promptFor("session_unknown"),
      await promptFor(closed),
      await promptFor(id, { repoRef: "workspace:workspace_other" }),
      await promptFor(id, { repoRef: "repo:acme/widgets" }),
      await promptFor(id, { text: "Use the key sk-proj-abcDEF0123456789abcDEF0123456789abcDEF01 for it." }),
    ];
    for (const prompt of refused) {
      const { status, details } = ackOf(await sendPrompt(client, prompt), prompt);
      assert.deepEqual([status, details.code], ["rejected", "HARP_ERR_POLICY_DENY"]);
    }
    harpErrorOf(await sendPrompt(client, nowhere), 422, "HARP_ERR_HASH_MISMATCH");
    assert.deepEqual(await tasksOf(client, id), []);
    const known = await auditOf(client);
    for (const { requestId } of refused) {
      const [record] = known.filter((each) => each.requestId === requestId);
      assert.deepEqual([record.event, record.code], ["prompt.refused", "HARP_ERR_POLICY_DENY"]);
    }
    assert.ok(!JSON.stringify(known).includes("sk-proj"));
  });

  test("HARP-117 a flooding sender gets 429 with a wait time; other sessions are unaffected", async () => {
    // Given a sender that does not stop, when it is too much, then it is 429 with the time to wait, and other sessions
    // are not affected.
    const { id } = await client.createSession();
    const sender = await client.withScopes("tasks:write");
    const prompts = await Promise.all(
      Array.from({ length: 200 }, () =>
        promptFor(id, { extensions: { harpPrompt: { expiresAt: longAgo } } }),
      ),
    );
    const answers = await Promise.all(prompts.map((prompt) => sendPrompt(sender, prompt)));
    const limited = answers.filter(({ status }) => status === 429);
    assert.ok(answers.length - limited.length >= 60, "as many as are allowed in a minute");
    const [first] = limited;
    assert.ok(first !== undefined);
    const { retryable, code } = harpErrorOf(first, 429, "HARP_PROMPT_ERR_RATE_LIMIT");
    assert.deepEqual([retryable, code], [true, "RateLimited"]);
    assert.ok(Number(first.headers.get("retry-after")) >= 1);
    const elsewhere = await promptFor((await client.createSession()).id);
    assert.equal(ackOf(await sendPrompt(sender, elsewhere), elsewhere).status, "delivered");
  });

  test("HARP-102 keys of other purposes, tenants and workspaces cannot send prompts", async () => {
    // Given keys for other things, other tenants and other workspaces, when they send prompts, then they are refused
    // without a hint.
    const { id } = await client.createSession();
    const sent = await promptFor(id);
    ackOf(await sendPrompt(client, sent), sent);
    const fresh = await promptFor(id);
    for (const scopes of [["harp:approver:ann"], ["harp:enforcer:e1", "tasks:read"], ["sessions:write"]]) {
      const other = await client.withScopes(...scopes);
      assert.equal(harpErrorOf(await sendPrompt(other, fresh), 403).code, "Forbidden");
    }
    const anonymous = await harpCall(client, "/v1/prompt", "{", { key: null });
    assert.equal(harpErrorOf(anonymous, 401).code, "Unauthenticated");
    const { body: workspace } = await client.post("/v1/workspaces", { name: "Second", root: "/srv/second" });
    const strangers = [
      client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key),
      client.as((await client.createKey({ workspace_ids: [workspace.id] })).key),
    ];
    for (const stranger of strangers) {
      const unknown = await promptFor("session_unknown");
      const [to, again, nowhere] = await Promise.all(
        [fresh, sent, unknown].map(async (prompt) => ackOf(await sendPrompt(stranger, prompt), prompt)),
      );
      assert.equal(to.status, "rejected");
      assert.deepEqual([again, nowhere], [to, to]);
      const forged = await promptFor(id, { requestId: sent.requestId, text: "guess" });
      assert.deepEqual(ackOf(await sendPrompt(stranger, forged), forged), to);
    }
    assert.equal((await tasksOf(client, id)).length, 1);
    const sender = await client.withScopes("tasks:write");
    assert.equal(ackOf(await sendPrompt(sender, fresh), fresh).status, "delivered");
  });

  test("HARP-121, HARP-126 a body that is no prompt returns an error envelope and no task", async () => {
    // Given bodies that are no prompts, when they are sent, then each is an error in an envelope, and there is no task.
    const { id } = await client.createSession();
    const good = JSON.stringify(await promptFor(id));
    const value = JSON.parse(good);
    for (const length of [0, 1, 10, good.length - 1]) {
      assert.equal(harpErrorOf(await sendPrompt(client, good.slice(0, length)), 400).code, "MalformedJson");
    }
    const twice = good.replace("{", '{"text":"another",');
    assert.equal(harpErrorOf(await sendPrompt(client, twice), 400).code, "MalformedJson");
    const bodies: unknown[] = [null, [], "prompt", 1, {}, { ...value, extra: 1 }];
    for (const name of Object.keys(value)) {
      for (const wrong of [null, 5, "", [], {}, "x".repeat(200)]) bodies.push({ ...value, [name]: wrong });
      const { [name]: _, ...without } = value;
      bodies.push(without);
    }
    bodies.push({ ...value, metadata: { n: 1.5 } }, { ...value, metadata: { "\u{1f600}": 1 } });
    bodies.push({ ...value, extensions: { harpPrompt: { expiresAt: "tomorrow" } } });
    const texts = bodies.map((body) => JSON.stringify(body));
    for (const text of [...texts, good.replace("{", '{"__proto__":null,')]) {
      const answer = await sendPrompt(client, text);
      assert.ok([400, 422].includes(answer.status), `${text} is ${answer.status}`);
      harpErrorOf(answer, answer.status);
    }
    const plain = await harpCall(client, "/v1/prompt", good, {
      headers: { "content-type": "text/plain" },
    });
    harpErrorOf(plain, 415);
    const newer = await harpCall(client, "/v1/prompt", good, { headers: { "x-harp-version": "1.0" } });
    harpErrorOf(newer, 426, "HARP_ERR_UNSUPPORTED");
    assert.equal((await harpCall(client, "/v1/prompt")).status, 405);
    assert.deepEqual(await tasksOf(client, id), []);
  });
});

test("HARP-115 prompts resent after a kill are delivered once and leak no text", async () => {
  // Given prompts under way, when the server is killed and they are sent again, then each is delivered once, and its
  // text is in no audit and no output.
  await using directory = await temporaryDirectory();
  const canary = "canary41d8";
  const prompts: Awaited<ReturnType<typeof promptFor>>[] = [];
  let sessionId = "";
  {
    await using server = await startProcess({ data: directory.path });
    const client = new Client(server);
    sessionId = (await client.createSession()).id;
    for (let n = 0; n < 30; n++) prompts.push(await promptFor(sessionId, { text: `${canary} ${n}` }));
    const sending = prompts.map((prompt) => sendPrompt(client, prompt));
    await Promise.any(sending);
    await server.kill();
    await Promise.allSettled(sending);
  }
  {
    await using server = await startProcess({ data: directory.path, env: { BRIDLE_LOG_LEVEL: "debug" } });
    const client = new Client(server);
    for (const prompt of prompts) {
      assert.equal(ackOf(await sendPrompt(client, prompt), prompt).status, "delivered");
    }
    for (const { id } of await tasksOf(client, sessionId)) await client.untilTask(id, isFinal);
    const said = (await client.listAll(`/v1/sessions/${sessionId}/messages`)).filter(
      ({ role }) => role === "user",
    );
    assert.deepEqual(said.map(({ parts }) => parts[0].text).sort(), prompts.map(({ text }) => text).sort());
    const delivered = (await auditOf(client)).filter(({ event }) => event === "prompt.delivered");
    assert.deepEqual(
      delivered.map(({ promptHash }) => promptHash).sort(),
      prompts.map(({ promptHash }) => promptHash).sort(),
    );
    assert.ok(!JSON.stringify(delivered).includes(canary));
    assert.equal(await server.stop(), 0);
    assert.ok(!server.output().includes(canary));
  }
  await assertRebuildable(directory.path);
  const store = await openSqliteStore(directory.path);
  const records = (await readWholeLog(store)).filter(({ resource }) => resource.object === "harp_prompt");
  await store.close();
  assert.equal(records.length, prompts.length);
  assert.ok(!JSON.stringify(records).includes(canary));
});

test("HARP-115 a crash before or after a prompt is stored still delivers it once", async () => {
  // Given a server that dies before or after a prompt is on disk, when it is sent again, then it is delivered once.
  await using directory = await temporaryDirectory();
  const { id } = await (async () => {
    await using server = await startServer({ data: directory.path });
    return await new Client(server).createSession();
  })();
  for (const [n, point] of ["commit.written:1", "commit.durable:1"].entries()) {
    const prompt = await promptFor(id, { text: `prompt ${n}` });
    {
      await using server = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT: point } });
      const died = new Promise((resolve) => server.process.once("exit", resolve));
      await assert.rejects(sendPrompt(new Client(server), prompt), `it dies at ${point}`);
      await died;
    }
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    const isOnDisk = point.startsWith("commit.durable");
    assert.equal((await tasksOf(client, id)).length, n + Number(isOnDisk), point);
    assert.equal(ackOf(await sendPrompt(client, prompt), prompt).status, "delivered");
    const tasks = await tasksOf(client, id);
    assert.equal(tasks.length, n + 1);
    for (const task of tasks) await client.untilTask(task.id, isFinal);
    assert.equal(await server.stop(), 0);
  }
  await assertRebuildable(directory.path);
});

test("HARP-127 a HARP-only port takes prompts at its root and both ports declare it", async () => {
  // Given a server with a port for HARP alone, when it is asked there, then prompts are taken at its root, and both say
  // so.
  await using directory = await temporaryDirectory();
  const server = await startInProcess({
    dataDirectory: directory.path,
    port: 0,
    harpPort: 0,
    grpcPort: null,
    apiKey: adminKey,
  });
  try {
    const client = new Client(server);
    const prompt = await promptFor((await client.createSession()).id);
    const headers = client.headers({ "content-type": "application/harp+json" });
    const answer = await fetch(`${server.harpUrl}/v1/prompt`, {
      method: "POST",
      headers,
      body: JSON.stringify(prompt),
    });
    assert.equal(answer.status, 200);
    assert.equal(ackOf(await sendPrompt(client, prompt), prompt).status, "delivered");
    const { body } = await harpCall(client, "/v1/status");
    assert.equal(body.conformanceLevel, "Extended");
  } finally {
    await server.stop(1000);
  }
});
