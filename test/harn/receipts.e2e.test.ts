/**
 * Receipts: every ended task and every decision leaves one that anybody can check. What is claimed of a hash, a
 * signature, the chain or its tree is computed here once more, from the specifications and not with the server's code.
 */

import assert from "node:assert/strict";
import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import canonicalize from "canonicalize";
import { decode } from "cborg";
import { pino } from "pino";
import { Compile } from "typebox/compile";
import type { Command } from "../../src/kernel/core/dispatch.ts";
import type { PersonaRecord } from "../../src/kernel/kinds/persona.ts";
import { defaultTenantId } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../../src/policy/caller.ts";
import { ReceiptSchema } from "../../src/receipts/schema.ts";
import { startServer as startHere } from "../../src/server/server.ts";
import { checkedRow, entriesOf } from "../../src/store/log-rows.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { type Answer, Client, errorOf, isFinal, type Json, until, userMessage } from "../support/client.ts";
import { assertRebuildable, readWholeLog } from "../support/log.ts";
import { config } from "../support/receipt-agents.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

// What a receipt must be, from the specifications.

const schema = Compile(ReceiptSchema);

function sha256(...data: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const each of data) hash.update(each);
  return `sha256:${hash.digest("hex")}`;
}

/** RFC 8785. */
function canonical(value: unknown): string {
  const text = canonicalize(value);
  assert.ok(text !== undefined);
  return text;
}

/** The hash of a receipt: without itself and without the signatures, which are made over it. */
function hashOf({ signatures: _, chain, ...receipt }: Json): string {
  const { receipt_hash: __, ...links } = chain;
  return sha256(canonical({ ...receipt, chain: links }));
}

/** Whether an Ed25519 key made a signature over the ASCII bytes of a hash. */
function isSigned(hash: string, signature: string, jwk: Json): boolean {
  const [, encoded = ""] = /^base64:(.+)$/.exec(signature) ?? [];
  const key = createPublicKey({ key: jwk, format: "jwk" });
  return verify(null, Buffer.from(hash, "ascii"), key, Buffer.from(encoded, "base64"));
}

function bytesOf(hash: string): Buffer {
  return Buffer.from(hash.slice("sha256:".length), "hex");
}

/** RFC 6962, section 2.1. */
function merkleRoot(hashes: readonly string[]): string {
  if (hashes.length === 0) return sha256("");
  const [only = ""] = hashes;
  if (hashes.length === 1) return sha256(Buffer.of(0), only);
  const middle = splitOf(hashes.length);
  const [left, right] = [merkleRoot(hashes.slice(0, middle)), merkleRoot(hashes.slice(middle))];
  return sha256(Buffer.of(1), bytesOf(left), bytesOf(right));
}

/** RFC 6962, section 2.1.1. */
function auditPath(index: number, hashes: readonly string[]): string[] {
  if (hashes.length === 1) return [];
  const middle = splitOf(hashes.length);
  const [left, right] = [hashes.slice(0, middle), hashes.slice(middle)];
  return index < middle
    ? [...auditPath(index, left), merkleRoot(right)]
    : [...auditPath(index - middle, right), merkleRoot(left)];
}

/** The largest power of two smaller than the size. */
function splitOf(size: number): number {
  return 2 ** Math.floor(Math.log2(size - 1));
}

async function keysOf(from: Client): Promise<Map<string, Json>> {
  const { keys } = (await from.call("/.well-known/jwks.json", { key: null })).body;
  return new Map(keys.map((key: Json) => [key.kid, key]));
}

/** The form, the hash and the signature are right. */
function assertSound(receipt: Json, keys: Map<string, Json>): void {
  assert.deepEqual([...schema.Errors(receipt)], [], `the form of ${receipt.receipt_id}`);
  assert.equal(receipt.chain.receipt_hash, hashOf(receipt));
  assert.equal(receipt.signatures.length, 1);
  const [{ key_id, algorithm, signature }] = receipt.signatures;
  assert.equal(algorithm, "ed25519");
  assert.ok(
    isSigned(receipt.chain.receipt_hash, signature, keys.get(key_id)),
    "the signature is not the key's",
  );
}

/** The receipts of a workspace that are in its chain, oldest first, after checking each of them and every link. */
async function readChain(from: Client, workspaceId: string): Promise<Json[]> {
  const keys = await keysOf(from);
  const listed = await from.listAll(`/v1/receipts?workspace_id=${workspaceId}`);
  const chain = listed.filter(({ subject }) => subject.object !== "replay_segment").reverse();
  const hashes: string[] = [];
  for (const receipt of chain) {
    assertSound(receipt, keys);
    assert.equal(receipt.chain.previous_receipt_hash, hashes.at(-1) ?? null, `link ${hashes.length}`);
    assert.equal(receipt.chain.merkle_root, merkleRoot(hashes), `root ${hashes.length}`);
    hashes.push(receipt.chain.receipt_hash);
  }
  assert.equal(new Set(chain.map(({ receipt_id }) => receipt_id)).size, chain.length);
  return chain;
}

// Getting there.

async function receiptOf({ receipt_id }: Json, from = client): Promise<Json> {
  const { status, body } = await from.get(`/v1/receipts/${receipt_id}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function newWorkspace(from = client): Promise<string> {
  return (await from.post("/v1/workspaces", { name: "Receipts", root: "." })).body.id;
}

/** A task of a session of its own that plays the script and has ended or waits. */
async function play(...lines: string[]): Promise<Json> {
  return await client.rehearse((await client.createSession()).id, ...lines);
}

/** A task of one of our own agents, once it has ended or waits. */
async function run(agent: string, input: object = {}, from = client, seconds = 30): Promise<Json> {
  const session_id = (await from.createSession()).id;
  const body = { session_id, persona_id: `persona_${agent}`, input };
  const answer = await from.post("/v1/tasks", body, { prefer: `wait=${seconds}` });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

async function cancel(task: Json, reason: string | null = null, from = client): Promise<Json> {
  const { status, body } = await from.post(`/v1/tasks/${task.id}/cancel`, { reason });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** Answers what a task waits for permission for, and gives the answered request. */
async function respond(task: Json, approved: boolean, reason: string | null = null): Promise<Json> {
  const pending = await client.untilTask(task.id, ({ waiting_for }) => waiting_for?.kind === "approval");
  const id = pending.waiting_for.permission_request_id;
  const { status, body } = await client.post(`/v1/permission-requests/${id}/respond`, { approved, reason });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const ended = (task: Json) => client.untilTask(task.id, isFinal);
const eventsOf = (task: Json, from = client) => from.listAll(`/v1/tasks/${task.id}/events`);
const verifyStored = (id: string, body: object = {}) => client.post(`/v1/receipts/${id}/verify`, body);
const verifyForeign = (body: unknown) => client.post("/v1/receipts/verify", body);

function checkNamed({ body }: Answer, name: string): Json {
  const found = body.details.checks.filter((check: Json) => check.name === name);
  assert.equal(found.length, 1, `the check ${name} among ${JSON.stringify(body.details.checks)}`);
  return found[0];
}

/** Whether an event is one of those that running a task again needs, and its hash covers. */
function isReplayed({ event, payload }: Json): boolean {
  const always = [
    "task.submitted",
    "task.started",
    "task.input_required",
    "task.auth_required",
    "agent.message",
  ];
  return always.includes(event) || payload.step !== undefined;
}

describe("The receipt of a task", () => {
  const endings: Record<string, () => Promise<Json>> = {
    "completes with a result": () => play("say hello", "return done"),
    "completes without a word": () => play("checkpoint here"),
    "fails by itself": () => play("fail on purpose"),
    "is rejected by its agent": () => play("reject not mine"),
    "has a script that cannot be read": () => play("dance"),
    "is denied what it asked for": async () => {
      const task = await play("approve ship");
      await respond(task, false);
      return await ended(task);
    },
    "is canceled while it waits for input": async () => cancel(await play("ask who?")),
    "is canceled while it waits for permission": async () => cancel(await play("approve ship"), "no"),
    "is canceled with its parent": async () => {
      const { id } = await client.createSession();
      const body = {
        session_id: id,
        persona_id: "persona_director",
        input: { scripts: ["sleep 600000", ""] },
      };
      const parent = (await client.post("/v1/tasks", body)).body;
      const children = () => client.listAll(`/v1/sessions/${id}/tasks`);
      await until(children, (tasks) => tasks.length === 2);
      await cancel(parent);
      return (await children()).find(({ parent_task_id }) => parent_task_id === parent.id);
    },
    "is dropped with its turn": async () => {
      const task = await play("ask who?");
      const { status } = await client.post(`/v1/sessions/${task.session_id}/truncate`, { keep_first: 0 });
      assert.equal(status, 200);
      return await client.untilTask(task.id, isFinal);
    },
  };
  for (const [how, make] of Object.entries(endings)) {
    test(`RCP-1 a task that ${how} has a valid receipt that verifies`, async () => {
      // Given a task that ${how}, when it has ended, then it has a receipt of the right form that verifies.
      const task = await make();
      assert.ok(isFinal(task), task.status);
      const receipt = await receiptOf(task);
      assert.equal(receipt.receipt_id, task.receipt_id);
      assert.deepEqual(receipt.subject, { object: "task", id: task.id });
      assertSound(receipt, await keysOf(client));
      const final_state = task.status === "COMPLETED" ? "SUCCEEDED" : task.status;
      assert.equal(receipt.lifecycle.final_state, final_state);
      assert.deepEqual(receipt.lifecycle.failure, task.failure);
      assert.equal((await verifyStored(task.receipt_id)).body.valid, true);
    });
  }

  test("RCP-1 reading a receipt returns the receipt itself with nothing added", async () => {
    // Given a receipt, when it is read, then the body is the receipt itself, with nothing added.
    const task = await play("return done");
    const { body, headers } = await client.get(`/v1/receipts/${task.receipt_id}`);
    assert.match(headers.get("content-type") ?? "", /^application\/json/);
    assert.equal(body.schema, "receipt-2026-04-25");
    assert.deepEqual(Object.keys(body).sort(), [
      "approvals",
      "autonomy_budget",
      "chain",
      "cost",
      "final_artifacts",
      "identifiers",
      "issued_at",
      "issuer",
      "lifecycle",
      "metadata",
      "model_route",
      "receipt_id",
      "redactions",
      "replay_input",
      "schema",
      "side_effects",
      "signatures",
      "subject",
      "trust",
    ]);
    assert.ok(!schema.Check({ ...body, object: "receipt" }), "the form has room for more");
  });

  const carelessness = ["names a step nothing", "names its failure after ours"];
  for (const how of carelessness) {
    test(`RCP-1 the receipt of an agent that ${how} still matches the schema`, async () => {
      // Given an agent that ${how}, when its task has ended, then the receipt has the right form all the same.
      const task = await run("careless", { how });
      assert.ok(isFinal(task), task.status);
      assertSound(await receiptOf(task), await keysOf(client));
      assert.equal((await verifyStored(task.receipt_id)).body.reason, null);
    });
  }

  test("RCP-1 an agent that throws a non-JSON failure fails its task with a receipt", async () => {
    // Given an agent whose failure holds what is no JSON, when it throws it, then the task fails with a receipt.
    const task = await run("careless", { how: "puts what is no JSON into its failure" }, client, 10);
    assert.equal(task.status, "FAILED");
    assertSound(await receiptOf(task), await keysOf(client));
  });

  test("RCP-1 an artifact registered with an empty address leaves the receipt valid", async () => {
    // Given an artifact registered with an empty address, when its task ends, then the receipt has the right form all
    // the same.
    const task = await play("ask who?");
    const artifact = { kind: "file", mime_type: "text/plain", visibility: "public", task_id: task.id };
    const { status } = await client.post("/v1/artifacts", { ...artifact, uri: "" });
    assert.ok([201, 400].includes(status), String(status));
    assertSound(await receiptOf(await cancel(task)), await keysOf(client));
  });

  test("RCP-2 the receipt of a run that uses every feature agrees with its log", async () => {
    // Given a run that did all that runs do, when its receipt is compared with its log, then it says the same.
    await using own = await startServer({ config });
    const from = new Client(own);
    const waiting = await run("worker", { order: 7, items: ["b", "a"] }, from);
    await from.answer(waiting.id, "no, thanks");
    const task = await from.untilTask(waiting.id, isFinal);
    assert.equal(task.status, "COMPLETED");
    const receipt = await receiptOf(task, from);
    const events = await eventsOf(task, from);
    const artifacts = (await from.listAll(`/v1/artifacts?task_id=${task.id}`)).reverse();
    assertSound(receipt, await keysOf(from));

    assert.deepEqual(receipt.identifiers, {
      tenant_id: "tenant_default",
      persona_ref: "persona_worker@1",
      workspace_ref: task.workspace_id,
      session_id: task.session_id,
      task_id: task.id,
      branch_id: task.branch_id,
      trace_id: sha256(`trace ${task.id}`).slice("sha256:".length, "sha256:".length + 32),
    });
    assert.deepEqual(receipt.lifecycle, {
      created_at: task.created_at,
      started_at: task.started_at,
      completed_at: task.completed_at,
      final_state: "SUCCEEDED",
      failure: null,
    });
    assert.equal(receipt.issued_at, task.completed_at);
    const persona = (await from.get("/v1/personas/persona_worker")).body;
    assert.deepEqual(receipt.trust, {
      start_tier: persona.autonomy_tier,
      end_tier: persona.autonomy_tier,
      policy_ref: "persona_worker@1",
    });
    assert.deepEqual(receipt.metadata, { submitted_by: { actor: "admin" }, agent: "worker@2.1.0" });
    assert.deepEqual(receipt.approvals, []);

    const spans = events.filter(({ event }) => event === "span.completed" || event === "span.failed");
    const hashed = (step: string) => {
      const { result } = spans.find(({ payload }) => payload.step === step).payload;
      return sha256(canonical("error" in result ? result.error : result.output));
    };
    const calls = [
      { tool: "measure", call_id: "step:measure:1", status: "succeeded" },
      { tool: "measure", call_id: "step:measure:2", status: "succeeded" },
      { tool: "break", call_id: "step:break:1", status: "failed" },
      { tool: "search", call_id: "mcp:search:1", status: "succeeded" },
      { tool: "hostname", call_id: "host:hostname:1", status: "succeeded" },
      { tool: "download", call_id: "step:download:1", status: "succeeded" },
    ];
    assert.deepEqual(
      receipt.side_effects.tool_calls,
      calls.map((call) => ({ ...call, output_hash: hashed(call.call_id) })),
    );
    assert.equal(
      hashed("step:measure:1"),
      sha256('{"ant":[true,null,"é"],"nested":{"a":1.5,"b":2},"zebra":1}'),
    );
    const { consumed } = receipt.autonomy_budget;
    assert.equal(consumed.tool_calls, calls.length);
    assert.equal(consumed.wall_time_ms, Date.parse(task.completed_at) - Date.parse(task.started_at));

    assert.deepEqual(
      receipt.final_artifacts,
      artifacts.map(({ id, kind, uri, sha256 }) => ({
        artifact_id: id,
        kind,
        uri,
        sha256: `sha256:${sha256}`,
      })),
    );
    assert.deepEqual(
      receipt.final_artifacts.map(({ kind, sha256 }: Json) => [kind, sha256]),
      [
        ["file", sha256("some notes")],
        ["log", sha256("one\ntwo\n")],
      ],
    );

    const [log, ...materials] = receipt.replay_input.materials;
    assert.equal(receipt.replay_input.determinism, "byte_deterministic");
    assert.deepEqual(
      materials.map(({ kind, id, sha256 }: Json) => [kind, id, sha256]),
      [
        ["host_fact", "step:measure:1"],
        ["host_fact", "step:measure:2"],
        ["host_fact", "step:break:1"],
        ["llm_provider_response", "llm:complete:1"],
        ["mcp_tool_return", "mcp:search:1"],
        ["host_fact", "host:hostname:1"],
        ["host_fact", "step:download:1"],
      ].map(([kind, id = ""]) => [kind, id, hashed(id)]),
    );
    assert.equal(log.uri, `/v1/tasks/${task.id}/events`);
    assert.equal(log.metadata.lines, events.filter(isReplayed).length);

    await own.stop();
    const lines = await logLines(own.data, task.id);
    assert.equal(lines.length, log.metadata.lines);
    assert.equal(log.sha256, sha256(...lines.map((line) => `${line}\n`)));
    assert.ok(receipt.redactions.some(({ proof_hash }: Json) => proof_hash === log.sha256));
  });

  /** What the hash of a task's log is over: the records of its steps in canonical form, and what people said by hash. */
  async function logLines(data: string, taskId: string): Promise<string[]> {
    const store = await openSqliteStore(data);
    try {
      const events: Json[] = (await readWholeLog(store)).filter((event) => event.taskId === taskId);
      const contentHash = (content: Json) =>
        "blob" in content ? `sha256:${content.blob}` : sha256(canonical(content.inline));
      const messages = new Map(
        events.flatMap(({ payload: { message } }) =>
          message ? [[message.id, contentHash(message.parts)]] : [],
        ),
      );
      return events.filter(isReplayed).map(({ event, payload, actor, createdAt }) => {
        const messageId = event === "task.submitted" ? payload.task.input.message_id : payload.message_id;
        const message = messages.get(messageId);
        const said = message === undefined ? {} : { message_sha256: message };
        return canonical({ event, payload, actor, created_at: createdAt, ...said });
      });
    } finally {
      await store.close();
    }
  }

  test("RCP-2 receipts of tasks canceled in the middle of a step miss no step of the log", async () => {
    // Given tasks canceled in the middle of their steps, when their receipts are compared with their logs, then no step
    // is missing.
    const { id } = await client.createSession({ persona_id: "persona_walker" });
    const tasks = await Promise.all(Array.from({ length: 5 }, () => client.submit(id, "go")));
    for (const task of tasks) {
      await until(
        () => eventsOf(task),
        (events) => events.length > 10,
      );
    }
    const canceled = await Promise.all(tasks.map((task) => cancel(task)));
    for (const task of canceled) {
      const receipt = await receiptOf(task);
      const events = await eventsOf(task);
      const steps = events.filter(({ event }) => event === "span.completed");
      assert.ok(steps.length > 5);
      assert.equal(receipt.autonomy_budget.consumed.tool_calls, steps.length);
      assert.equal(receipt.replay_input.materials[0].metadata.lines, events.filter(isReplayed).length);
    }
  });

  test("RCP-2 the receipt of a run names its child tasks and their receipts", async () => {
    // Given a run that had others work for it, when it has ended, then its receipt names them and their receipts.
    const scripts = ["return done", "fail on purpose", "sleep 600000"];
    const task = await run("director", { scripts });
    assert.equal(task.status, "COMPLETED");
    const all = (await client.listAll(`/v1/sessions/${task.session_id}/tasks`)).reverse();
    const [done, failed, asleep] = all.filter(({ parent_task_id }) => parent_task_id === task.id);
    assert.ok(done.receipt_id !== null && failed.receipt_id !== null && asleep.receipt_id === null);
    const target_agent = "persona_rehearsal";
    assert.deepEqual((await receiptOf(task)).side_effects.a2a_handoffs, [
      { target_agent, task_id: done.id, status: "completed", receipt_id: done.receipt_id },
      { target_agent, task_id: failed.id, status: "failed", receipt_id: failed.receipt_id },
      { target_agent, task_id: asleep.id, status: "accepted" },
    ]);
    await cancel(asleep);
  });

  test("RCP-2 the receipt of a run with a secret says best-effort replay and omits the secret", async () => {
    // Given a run that used a secret, when its receipt is read, then a replay is best effort and the secret is nowhere.
    const receipt = await receiptOf(await run("secretive"));
    assert.equal(receipt.replay_input.determinism, "best_effort");
    assert.ok(!JSON.stringify(receipt).includes("battery staple"));
  });

  test("RCP-2 a credential written by the caller is listed as a redaction with its kind", async () => {
    // Given a caller who wrote down a credential, when the receipt is read, then it lists that something was removed,
    // and what kind.
    const receipt = await receiptOf(await play(`say Authorization: Bearer ${"t0k3n".repeat(8)}`));
    assert.ok(!JSON.stringify(receipt).includes("t0k3n"));
    const reasons = receipt.redactions.map(({ reason }: Json) => reason);
    assert.ok(
      reasons.some((reason: string) => reason.startsWith("bearer_token")),
      reasons.join(", "),
    );
  });

  const failures = ["fails with a credential", "puts a time into its failure"];
  for (const how of failures) {
    test(`RCP-2 the receipt of an agent that ${how} has the same failure as the log`, async () => {
      // Given an agent that ${how}, when its receipt is read, then the failure is the one in the log.
      const task = await run("careless", { how });
      assert.equal(task.status, "FAILED");
      const receipt = await receiptOf(task);
      assert.ok(!/k3yk3y|hunter2/.test(JSON.stringify(receipt)), "the credential is in the receipt");
      assert.deepEqual(receipt.lifecycle.failure, task.failure);
    });
  }

  test("RCP-2 a very long failure is complete in the receipt or marked as cut", async () => {
    // Given a failure of great length, when its receipt is read, then it is whole or the receipt says that it was cut.
    const task = await play(`fail ${"🦊".repeat(20_000)}`);
    const receipt = await receiptOf(task);
    assertSound(receipt, await keysOf(client));
    const isWhole = receipt.lifecycle.failure.message === task.failure.message;
    const cut = receipt.redactions.filter(({ field }: Json) => field.startsWith("/lifecycle/failure"));
    assert.equal(cut.length, isWhole ? 0 : 1, "an omission is not listed");
  });

  const long: Record<
    string,
    { make: () => Promise<Json>; listed: (receipt: Json) => Json[]; field: string }
  > = {
    steps: {
      make: () => play(...Array.from({ length: 101 }, (_, n) => `step s${n}`)),
      listed: ({ side_effects }) => side_effects.tool_calls,
      field: "/side_effects/tool_calls",
    },
    materials: {
      make: () => play(...Array.from({ length: 101 }, (_, n) => `step s${n}`)),
      listed: ({ replay_input }) => replay_input.materials.slice(1),
      field: "/replay_input/materials",
    },
    artifacts: {
      make: () => play(...Array.from({ length: 101 }, (_, n) => `artifact a${n}.txt content`)),
      listed: ({ final_artifacts }) => final_artifacts,
      field: "/final_artifacts",
    },
    "hand-offs": {
      make: async () => cancel(await run("crowd", { count: 101 })),
      listed: ({ side_effects }) => side_effects.a2a_handoffs,
      field: "/side_effects/a2a_handoffs",
    },
    approvals: {
      make: async () =>
        ended(await run("petitioner", { actions: Array.from({ length: 101 }, (_, n) => `act ${n}`), ms: 1 })),
      listed: ({ approvals }) => approvals,
      field: "/approvals",
    },
  };
  for (const [what, { make, listed, field }] of Object.entries(long)) {
    test(`RCP-2 the receipt of a run with 101 ${what} lists them all or states the omission`, async () => {
      // Given a run with 101 ${what}, when it has ended, then its receipt lists them all or says that it leaves some
      // out.
      const task = await make();
      assert.ok(isFinal(task), task.status);
      const receipt = await receiptOf(task);
      assertSound(receipt, await keysOf(client));
      const omitted = receipt.redactions.filter((redaction: Json) => redaction.field === field);
      assert.ok(listed(receipt).length > 50);
      assert.equal(omitted.length, listed(receipt).length < 101 ? 1 : 0, "an omission is not listed");
      for (const { proof_hash } of omitted) {
        assert.equal(proof_hash, receipt.replay_input.materials[0].sha256);
      }
    });
  }

  test("RCP-3 an ended task, its outcome, events and artifacts name the receipt", async () => {
    // Given an ended task, when it, its outcome, its events and its artifacts are read, then they name the receipt.
    const task = await play("artifact a.txt content", "return done");
    assert.match(task.receipt_id, /^receipt_/);
    const outcome = (await client.get(`/v1/outcomes/${task.outcome_id}`)).body;
    assert.equal(outcome.receipt_id, task.receipt_id);
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    assert.equal(artifact.receipt_id, task.receipt_id);
    assert.equal(outcome.artifacts[0].receipt_id, task.receipt_id);
    const events = await eventsOf(task);
    const naming = events.filter(({ receipt_id }) => receipt_id !== null);
    assert.deepEqual(
      naming.map(({ event, receipt_id }) => [event, receipt_id]),
      [
        ["task.completed", task.receipt_id],
        ["receipt.issued", task.receipt_id],
      ],
    );
    assert.equal(naming[0].payload.outcome.receipt_id, task.receipt_id);
    const { chain, subject } = await receiptOf(task);
    const { payload, resource } = naming[1];
    assert.deepEqual(resource, { object: "receipt", id: task.receipt_id });
    assert.deepEqual(payload.subject, subject);
    assert.equal(payload.receipt_hash, chain.receipt_hash);
    assert.equal(payload.previous_receipt_hash, chain.previous_receipt_hash);
  });

  test("RCP-3 a task that has not ended and its artifacts name no receipt", async () => {
    // Given a task that has not ended, when it and its artifacts are read, then they name no receipt.
    const task = await play("artifact a.txt content", "ask who?");
    assert.equal(task.receipt_id, null);
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    assert.equal(artifact.receipt_id, null);
    await cancel(task);
  });

  test("RCP-3 an artifact registered after its task ended names no receipt that does not list it", async () => {
    // Given an artifact registered for a task that had ended, when it is read, then it names no receipt that does not
    // list it.
    const task = await play("return done");
    const request = { kind: "file", mime_type: "text/plain", visibility: "public", task_id: task.id };
    const { status, body } = await client.post("/v1/artifacts", {
      ...request,
      uri: "https://example.com/late",
    });
    assert.equal(status, 201);
    const { receipt_id } = (await client.get(`/v1/artifacts/${body.id}`)).body;
    const listed = receipt_id === null ? [{ artifact_id: body.id }] : (await receiptOf(task)).final_artifacts;
    assert.deepEqual(
      listed.map(({ artifact_id }: Json) => artifact_id),
      [body.id],
    );
  });
});

describe("The receipt of a decision", () => {
  const decisions: Record<
    string,
    { decision: string; final_state: string; actor: string; make: () => Promise<Json> }
  > = {
    "is approved": {
      decision: "approved",
      final_state: "SUCCEEDED",
      actor: "admin",
      async make() {
        const task = await run("petitioner", { actions: ["ship it"] });
        await respond(task, true, "looks good");
        return task;
      },
    },
    "is denied": {
      decision: "denied",
      final_state: "FAILED",
      actor: "admin",
      async make() {
        const task = await run("petitioner", { actions: ["ship it"] });
        await respond(task, false, "not on a Friday");
        return task;
      },
    },
    "nobody decides in time": {
      decision: "timeout",
      final_state: "FAILED",
      actor: "system",
      make: () => run("petitioner", { actions: ["ship it"], ms: 20 }),
    },
    "is withdrawn by the end of the task": {
      decision: "canceled",
      final_state: "CANCELED",
      actor: "system",
      make: async () => cancel(await run("petitioner", { actions: ["ship it"] })),
    },
  };
  for (const [how, { decision, final_state, actor, make }] of Object.entries(decisions)) {
    test(`RCP-4 a permission that ${how} has a receipt with evidence, listed in the task's`, async () => {
      // Given a permission that ${how}, when the receipts are read, then the decision has one with its evidence, and the
      // task's lists it.
      const task = await ended(await make());
      const [request] = await client.listAll(`/v1/tasks/${task.id}/permission-requests`);
      const receipt = await receiptOf(request);
      assertSound(receipt, await keysOf(client));
      assert.equal((await verifyStored(request.receipt_id)).body.valid, true);
      assert.deepEqual(receipt.subject, { object: "approval", id: request.id });
      assert.equal(receipt.identifiers.task_id, task.id);
      assert.equal(receipt.lifecycle.final_state, final_state);
      assert.equal(receipt.lifecycle.completed_at, request.response.decided_at);
      assert.deepEqual(receipt.approvals, [
        {
          approval_id: request.id,
          actor,
          action: "ship it",
          decision,
          decided_at: request.response.decided_at,
          quorum_proof: { required: 1, satisfied: decision === "approved" ? 1 : 0 },
          evidence_hash: sha256(canonical({ request: request.request, response: request.response })),
        },
      ]);
      assert.deepEqual((await receiptOf(task)).approvals, receipt.approvals);
      const decided = (await eventsOf(task)).filter(({ event }) => /^tool\.(approved|denied)$/.test(event));
      assert.deepEqual(
        decided.map(({ receipt_id }) => receipt_id),
        [request.receipt_id],
      );
    });
  }

  test("RCP-4 a task's receipt lists its permission decisions in their order", async () => {
    // Given a task that asked several times, when it has ended, then its receipt lists the decisions in their order.
    const task = await run("petitioner", { actions: ["build", "test", "ship"] });
    for (const approved of [true, false, true]) await respond(task, approved);
    const receipt = await receiptOf(await ended(task));
    assert.deepEqual(
      receipt.approvals.map(({ action, decision }: Json) => [action, decision]),
      [
        ["build", "approved"],
        ["test", "denied"],
        ["ship", "approved"],
      ],
    );
  });

  test("RCP-4 a credential quoted in a denial is in neither receipt, and their evidence is equal", async () => {
    // Given a denial that quotes a credential, when the receipts are read, then neither holds it and both have the same
    // evidence.
    const task = await run("petitioner", { actions: ["ship it"] });
    const request = await respond(task, false, `your key ${adminKey} is wrong`);
    const receipt = await receiptOf(request);
    assert.ok(!JSON.stringify(receipt).includes(adminKey), "the credential is in the receipt");
    assert.deepEqual((await receiptOf(await ended(task))).approvals, receipt.approvals);
    const evidence = sha256(canonical({ request: request.request, response: request.response }));
    assert.equal(receipt.approvals[0].evidence_hash, evidence);
  });
});

describe("Hash and signature", () => {
  test("RCP-5 a receipt's hash follows RFC 8785 and SHA-256, and a published key signed it", async () => {
    // Given a receipt, when its hash is computed as RFC 8785 and SHA-256 say, then it is the one it names, and a
    // published key signed it.
    const receipt = await receiptOf(await play("artifact a.txt content", "return done"));
    assert.match(receipt.chain.receipt_hash, /^sha256:[0-9a-f]{64}$/);
    assert.equal(receipt.chain.receipt_hash, hashOf(receipt));
    const [{ key_id, algorithm, signature }] = receipt.signatures;
    assert.equal(algorithm, "ed25519");
    assert.equal(receipt.issuer.public_key_id, key_id);
    const jwk = (await keysOf(client)).get(key_id);
    assert.ok(isSigned(receipt.chain.receipt_hash, signature, jwk));
    assert.ok(!isSigned(receipt.chain.receipt_hash.slice("sha256:".length), signature, jwk));
    assert.ok(!isSigned(sha256("another"), signature, jwk));
  });

  test("RCP-5 the key set is public and has only public Ed25519 keys named by thumbprint", async () => {
    // Given nobody's key, when the key set is read, then it has public Ed25519 keys, named by their thumbprints, and
    // nothing private.
    const response = await fetch(`${client.url}/.well-known/jwks.json`);
    assert.equal(response.status, 200);
    const { keys }: Json = await response.json();
    assert.ok(keys.length > 0);
    for (const { kid, ...key } of keys) {
      assert.deepEqual(Object.keys(key).sort(), ["alg", "crv", "kty", "use", "x"]);
      assert.deepEqual([key.kty, key.crv, key.alg, key.use], ["OKP", "Ed25519", "EdDSA", "sig"]);
      const thumbprint = createHash("sha256").update(canonical({ crv: key.crv, kty: key.kty, x: key.x }));
      assert.ok(thumbprint.digest("base64url").startsWith(kid.replace(/^key_/, "")), kid);
    }
  });

  const halves: Record<string, () => Promise<Json>> = {
    "a step's name, its result and a failure": () => run("careless", { how: "breaks a letter in two" }),
    "a question that is canceled": async () =>
      cancel(await run("careless", { how: "asks in half" }), "because"),
    "a request that is denied": async () => {
      const task = await run("careless", { how: "wants half approved" });
      const { receipt_id } = await respond(task, false, "no");
      assertSound(await receiptOf({ receipt_id }), await keysOf(client));
      return await ended(task);
    },
  };
  for (const [where, make] of Object.entries(halves)) {
    test(`RCP-5 RCP-1 a receipt with a lone surrogate in ${where} has a hash and verifies`, async () => {
      // Given half a letter in ${where}, when the task has ended, then its receipt has a hash and verifies.
      const task = await make();
      assert.ok(isFinal(task), task.status);
      const receipt = await receiptOf(task);
      assert.ok(JSON.stringify(receipt).isWellFormed());
      assertSound(receipt, await keysOf(client));
      assert.equal((await verifyStored(task.receipt_id)).body.valid, true);
      assert.equal((await verifyForeign(receipt)).body.valid, true);
    });
  }
});

describe("The chain", () => {
  test("RCP-6 tasks completing at once form one chain per workspace without a gap or a fork", async () => {
    // Given 100 tasks in one workspace and 30 in another, when they complete at once, then each workspace has one chain
    // without a gap or a fork.
    const [one, other] = [await newWorkspace(), await newWorkspace()];
    const complete = async (workspace_id: string, count: number) => {
      const { id } = await client.createSession({ workspace_id });
      const tasks = Array.from({ length: count }, (_, n) => client.rehearse(id, `step s${n}`, "return done"));
      return (await Promise.all(tasks)).map(({ receipt_id }) => receipt_id);
    };
    const [ofOne, ofOther] = await Promise.all([complete(one, 100), complete(other, 30)]);
    const chains = [await readChain(client, one), await readChain(client, other)];
    const ids = chains.map((chain) => chain.map(({ receipt_id }) => receipt_id).sort());
    assert.deepEqual(ids, [ofOne.sort(), ofOther.sort()]);
  });

  test("RCP-6 the order of the chain is the order of the commits in the log", async () => {
    // Given a chain, when its order is compared with the log's, then it is the order of the commits.
    const workspace = await newWorkspace();
    const { id } = await client.createSession({ workspace_id: workspace });
    await Promise.all(Array.from({ length: 10 }, () => client.rehearse(id, "return done")));
    const chain = await readChain(client, workspace);
    assert.equal(chain.length, 10);
    const events = await client.listAll(`/v1/events?session_id=${id}`);
    const issued = events.filter(({ event }) => event === "receipt.issued");
    assert.deepEqual(
      issued.map(({ receipt_id }) => receipt_id),
      chain.map(({ receipt_id }) => receipt_id),
    );
    assert.deepEqual(
      issued.map(({ payload }) => payload.chain_index),
      [...chain.keys()],
    );
  });

  test("RCP-6 the chain continues from a receipt that was just verified", async () => {
    // Given a receipt that was just verified, when the next task ends, then the chain goes on from it.
    const workspace = await newWorkspace();
    const { id } = await client.createSession({ workspace_id: workspace });
    for (let n = 0; n < 3; n++) {
      const { receipt_id } = await client.rehearse(id, "return done");
      await Promise.all([verifyStored(receipt_id), verifyStored(receipt_id)]);
    }
    assert.equal((await readChain(client, workspace)).length, 3);
  });

  test("RCP-6 tasks canceled while they end get one receipt each, and the chain is whole", async () => {
    // Given tasks that are canceled while they end by themselves, when all have ended, then each has one receipt and the
    // chain is whole.
    const workspace = await newWorkspace();
    const { id } = await client.createSession({ workspace_id: workspace, persona_id: "persona_rehearsal" });
    const tasks = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const task = await client.submit(id, n % 2 === 0 ? "step a\nreturn done" : "approve it");
        await client.post(`/v1/tasks/${task.id}/cancel`);
        return await ended(task);
      }),
    );
    const chain = await readChain(client, workspace);
    const ofTasks = chain.filter(({ subject }) => subject.object === "task");
    assert.deepEqual(
      ofTasks.map(({ receipt_id }) => receipt_id).sort(),
      tasks.map(({ receipt_id }) => receipt_id).sort(),
    );
  });

  describe("over more than two nodes of 64", () => {
    let chain: Json[];
    let hashes: string[];
    let workspace: string;

    before(async () => {
      workspace = await newWorkspace();
      const { id } = await client.createSession({ workspace_id: workspace });
      const complete = (count: number) =>
        Promise.all(Array.from({ length: count }, () => client.rehearse(id, "return done")));
      const [first] = await complete(63);
      // Two receipts in one commit, the last of a node and the first of the next; others, of no chain, around them.
      const replay = (body: object) =>
        client.post(`/v1/tasks/${first.id}/replay`, body, { prefer: "wait=30" });
      assert.equal((await replay({})).body.status, "COMPLETED");
      await cancel(await client.rehearse(id, "approve it"));
      const time = { kind: "time", value: 0 };
      const other = await replay({ mode: "with_overrides", override: { "time:completed_at": time } });
      assert.equal(other.body.status, "COMPLETED");
      await complete(75);
      chain = await readChain(client, workspace);
      hashes = chain.map((receipt) => receipt.chain.receipt_hash);
      assert.equal(chain.length, 140);
      assert.equal(chain[63].subject.object, "approval");
      assert.equal((await client.listAll(`/v1/receipts?workspace_id=${workspace}`)).length, 142);
    });

    const proofOf = async (index: number, query = ""): Promise<Json> =>
      (await client.get(`/v1/receipts/${chain[index].receipt_id}/proof${query}`)).body;

    test("RCP-7 the Merkle root of each of 140 receipts is the RFC 6962 root over its chain", () => {
      // Given 140 receipts, when each is compared with the chain before it, then its Merkle root is the RFC 6962 root
      // over it.
      for (const [index, receipt] of chain.entries()) {
        assert.equal(receipt.chain.merkle_root, merkleRoot(hashes.slice(0, index)), `receipt ${index}`);
      }
    });

    test("RCP-7 the inclusion path of each of 140 receipts is the RFC 6962 path", async () => {
      // Given 140 receipts, when their inclusion in today's chain is proved, then each path is the RFC 6962 path.
      for (const [index, { receipt_id, chain: links }] of chain.entries()) {
        assert.deepEqual(await proofOf(index), {
          object: "receipt_proof",
          receipt_id,
          receipt_hash: links.receipt_hash,
          workspace_id: workspace,
          leaf_index: index,
          tree_size: 140,
          merkle_root: merkleRoot(hashes),
          path: auditPath(index, hashes),
        });
      }
    });

    for (const size of [1, 2, 3, 62, 63, 64, 65, 66, 127, 128, 129, 130, 139]) {
      test(`RCP-7 an inclusion proof at size ${size} of 140 has the root and path of that size`, async () => {
        // Given a chain of 140, when inclusion is proved as it was at ${size}, then root and path are those of then.
        const then = hashes.slice(0, size);
        const places = [0, 1, 2, 33, 61, 62, 63, 64, 65, 126, 127, 128, 129, size - 1];
        for (const index of new Set(places.filter((place) => place < size))) {
          const proof = await proofOf(index, `?tree_size=${size}`);
          assert.equal(proof.tree_size, size);
          assert.equal(proof.leaf_index, index);
          assert.equal(proof.merkle_root, merkleRoot(then), `root for ${index}`);
          assert.deepEqual(proof.path, auditPath(index, then), `path of ${index}`);
        }
        const next = chain[size];
        assert.equal((await proofOf(0, `?tree_size=${size}`)).merkle_root, next.chain.merkle_root);
      });
    }

    test("RCP-7 RCP-8 receipts around the tree boundaries verify with the right link and root", async () => {
      // Given 140 receipts, when those around the boundaries are verified, then link and root are found to be right.
      for (const index of [0, 1, 62, 63, 64, 65, 127, 128, 129, 139]) {
        const answer = await verifyStored(chain[index].receipt_id);
        assert.equal(answer.body.valid, true, answer.body.reason);
        assert.equal(checkNamed(answer, "chain_link").found, hashes[index - 1] ?? null);
        assert.equal(checkNamed(answer, "merkle_root").expected, merkleRoot(hashes.slice(0, index)));
      }
    });

    test("RCP-7 a proof for an impossible tree_size answers 400 naming tree_size", async () => {
      // Given a tree_size that cannot be, when a proof is asked for, then it is 400 and names tree_size.
      const path = `/v1/receipts/${chain[70].receipt_id}/proof`;
      for (const size of ["0", "-1", "141", "70", "1099511627777", "9".repeat(30), "1.5", "all", ""]) {
        const error = errorOf(await client.get(`${path}?tree_size=${size}`), 400);
        assert.equal(error.code, "invalid_request", size);
        assert.equal(error.param, "tree_size", size);
      }
      assert.equal((await client.get(`${path}?tree_size=71`)).status, 200);
    });

    test("RCP-7 proofs requested while tasks complete are right for the size they name", async () => {
      // Given tasks that complete meanwhile, when proofs are asked for, then each is right for the size it names.
      const { id } = await client.createSession({ workspace_id: workspace });
      const more = Promise.all(Array.from({ length: 60 }, () => client.rehearse(id, "return done")));
      const proofs: Json[] = [];
      const done = { yet: false };
      void more.finally(() => {
        done.yet = true;
      });
      while (!done.yet) proofs.push(await proofOf(proofs.length % 140));
      await more;
      const now = (await readChain(client, workspace)).map((receipt) => receipt.chain.receipt_hash);
      assert.equal(now.length, 200);
      for (const { leaf_index, tree_size, merkle_root, path } of proofs) {
        assert.equal(merkle_root, merkleRoot(now.slice(0, tree_size)));
        assert.deepEqual(path, auditPath(leaf_index, now.slice(0, tree_size)));
      }
    });
  });

  test("RCP-6 RCP-7 150 tasks canceled in one commit form a whole chain with provable inclusions", async () => {
    // Given 150 tasks that are canceled in one commit, when their chain is read, then it is whole and each inclusion can
    // be proved.
    const workspace = await newWorkspace();
    const { id: session_id } = await client.createSession({ workspace_id: workspace });
    const body = { session_id, persona_id: "persona_crowd", input: { count: 149 } };
    const parent = (await client.post("/v1/tasks", body, { prefer: "wait=30" })).body;
    await cancel(parent);
    const hashes = (await readChain(client, workspace)).map(({ chain }) => chain.receipt_hash);
    assert.equal(hashes.length, 150);
    const ids = (await client.listAll(`/v1/receipts?workspace_id=${workspace}`)).reverse();
    for (const index of [0, 1, 62, 63, 64, 65, 126, 127, 128, 129, 149]) {
      for (const size of [index + 1, 150]) {
        const path = `/v1/receipts/${ids[index].receipt_id}/proof?tree_size=${size}`;
        const { leaf_index, merkle_root, path: found } = (await client.get(path)).body;
        assert.equal(leaf_index, index);
        assert.equal(merkle_root, merkleRoot(hashes.slice(0, size)));
        assert.deepEqual(found, auditPath(index, hashes.slice(0, size)));
      }
    }
  });

  test("RCP-12 the chain continues without a gap or a fork after repeated kills under load", async (t) => {
    // Given a server killed again and again under load, when it is started again, then the chain goes on without a gap
    // or a fork.
    await using directory = await temporaryDirectory();
    const accepted: string[] = [];
    let session = "";
    /** Submits until the server is gone. */
    const load = async (from: Client) => {
      const workers = Array.from({ length: 8 }, async (_, n) => {
        while (true) {
          const text = n === 0 ? "approve it" : "step a\nreturn done";
          const body = { session_id: session, persona_id: "persona_rehearsal", input: userMessage(text) };
          const answer = await from.post("/v1/tasks", body).catch(() => null);
          if (answer === null) return;
          assert.equal(answer.status, 202, JSON.stringify(answer.body));
          accepted.push(answer.body.id);
          // Two receipts in one commit.
          if (n === 0) await from.post(`/v1/tasks/${answer.body.id}/cancel`).catch(() => null);
        }
      });
      await Promise.all(workers);
    };
    const points = ["commit.begun:9", "commit.written:15", "commit.durable:21", undefined];
    for (const BRIDLE_FAIL_POINT of points) {
      await using fragile = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT } });
      const from = new Client(fragile);
      if (session === "") session = (await from.createSession()).id;
      const loading = load(from);
      if (BRIDLE_FAIL_POINT === undefined) {
        const endedTasks = async () => (await from.listAll(`/v1/sessions/${session}/tasks`)).filter(isFinal);
        const before = (await endedTasks()).length;
        await until(endedTasks, (tasks) => tasks.length > before + 20);
        await fragile.kill();
      }
      await loading;
    }

    await using last = await startServer({ data: directory.path });
    const from = new Client(last);
    const tasks = await until(
      () => from.listAll(`/v1/sessions/${session}/tasks`),
      (all) => all.every((task) => isFinal(task) || task.status === "AUTH_REQUIRED"),
    );
    const more = await Promise.all(Array.from({ length: 10 }, () => from.rehearse(session, "return done")));
    const chain = await readChain(from, "workspace_default");
    const ofTasks = chain.filter(({ subject }) => subject.object === "task");
    assert.deepEqual(
      ofTasks.map(({ receipt_id }) => receipt_id).sort(),
      [...tasks.filter(isFinal), ...more].map(({ receipt_id }) => receipt_id).sort(),
    );
    const known = new Set(tasks.map(({ id }) => id));
    assert.deepEqual(
      accepted.filter((id) => !known.has(id)),
      [],
      "a task was lost",
    );
    assert.ok(chain.length > 30, String(chain.length));
    t.diagnostic(`${tasks.length} tasks, ${chain.length} receipts, ${points.length} kills`);
    await last.stop();
    const events = await assertRebuildable(directory.path);
    assert.equal(events.filter(({ event }) => event === "receipt.issued").length, chain.length);
  });
});

describe("Verification of our own", () => {
  const checkNames = [
    "schema",
    "hash",
    "chain_link",
    "merkle_root",
    "signature[0]",
    "signatures",
    "issuer_key",
  ];

  test("RCP-8 verification reports each check by name and records the result in the log", async () => {
    // Given a receipt, when it is verified, then each check is reported by name and the result is in the log.
    const task = await play("return done");
    const receipt = await receiptOf(task);
    const answer = await client.call(`/v1/receipts/${task.receipt_id}/verify`, { method: "POST" });
    assert.equal(answer.status, 200);
    const { object, valid, reason, details } = answer.body;
    assert.deepEqual(
      { object, valid, reason },
      { object: "receipt_verification", valid: true, reason: null },
    );
    assert.deepEqual(
      details.checks.map(({ name, ok }: Json) => [name, ok]),
      checkNames.map((name) => [name, true]),
    );
    const { receipt_hash, previous_receipt_hash, merkle_root } = receipt.chain;
    const found: Record<string, string | null> = {
      hash: receipt_hash,
      chain_link: previous_receipt_hash,
      merkle_root,
      "signature[0]": receipt_hash,
      issuer_key: receipt.issuer.public_key_id,
    };
    for (const [name, value] of Object.entries(found)) {
      assert.equal(checkNamed(answer, name).found, value, name);
      assert.equal(checkNamed(answer, name).expected, value, name);
    }
    const [verified] = (await eventsOf(task)).filter(({ event }) => event.startsWith("receipt.verif"));
    assert.equal(verified.event, "receipt.verified");
    assert.equal(verified.receipt_id, task.receipt_id);
    assert.deepEqual(verified.payload.checks, Object.fromEntries(checkNames.map((name) => [name, true])));
  });

  test("RCP-8 verification with a trust anchor accepts only a signature of that key", async () => {
    // Given a trust anchor, when a receipt is verified, then only a signature of that key will do.
    const task = await play("return done");
    const { public_key_id } = (await receiptOf(task)).issuer;
    const trusted = await verifyStored(task.receipt_id, { trust_anchor: public_key_id });
    assert.equal(trusted.body.valid, true);
    assert.equal(checkNamed(trusted, "trust_anchor").ok, true);

    const distrusted = await verifyStored(task.receipt_id, { trust_anchor: "key_of_somebody_else" });
    assert.equal(distrusted.status, 200);
    assert.equal(distrusted.body.valid, false);
    const { ok, expected, found, message } = checkNamed(distrusted, "trust_anchor");
    assert.deepEqual(
      { ok, expected, found },
      { ok: false, expected: "key_of_somebody_else", found: public_key_id },
    );
    assert.equal(distrusted.body.reason, message);
    const events = (await eventsOf(task)).filter(({ event }) => event === "receipt.verification_failed");
    assert.equal(events.length, 1);
    assert.equal(events[0].payload.checks.trust_anchor, false);
  });

  test("RCP-8 given a time, when a receipt is verified, then it must have been issued by then", async () => {
    const task = await play("return done");
    const { issued_at } = await receiptOf(task);
    const before = new Date(Date.parse(issued_at) - 1).toISOString();
    for (const [at_time, valid] of [
      [issued_at, true],
      ["2999-01-01T00:00:00+02:00", true],
      [before, false],
      ["1970-01-01T00:00:00Z", false],
    ] as const) {
      const answer = await verifyStored(task.receipt_id, { at_time });
      assert.equal(answer.body.valid, valid, at_time);
      const { ok, expected, found } = checkNamed(answer, "issued_at");
      assert.deepEqual({ ok, expected, found }, { ok: valid, expected: at_time, found: issued_at });
    }
  });

  test("RCP-8 verification accepts or rejects an unusual time format but never misreads it", async () => {
    // Given a time that few can read, when a receipt is verified, then it is understood or refused, never taken for
    // another.
    const { receipt_id } = await play("return done");
    for (const at_time of [
      "2999-12-31T23:59:60Z",
      "2999-01-01T00:00:00Z[Europe/Paris]",
      "2999-01-01t00:00:00z",
    ]) {
      const { status, body } = await verifyStored(receipt_id, { at_time });
      if (status === 400) assert.equal(body.error.param, "at_time");
      else assert.equal(body.valid, true, `${at_time}: ${body.reason}`);
    }
  });

  test("RCP-8 given neither, when nulls are sent, then they ask for nothing", async () => {
    const { receipt_id } = await play("return done");
    const answer = await verifyStored(receipt_id, { trust_anchor: null, at_time: null });
    assert.equal(answer.body.valid, true);
    assert.equal(answer.body.details.checks.length, checkNames.length);
  });

  test("RCP-8 verification of a receipt changed on disk names the expected and the found hash", async () => {
    // Given a receipt changed on disk, when it is verified, then it says which hash was expected and which was found.
    await using own = await startServer();
    const task = await new Client(own).rehearse((await new Client(own).createSession()).id, "return done");
    const { chain } = await receiptOf(task, new Client(own));
    assert.equal(await own.stop(), 0);
    const db = new DatabaseSync(join(own.data, "bridle.db"));
    const row = db.prepare("SELECT * FROM log WHERE task_id = ? ORDER BY last DESC LIMIT 1").get(task.id);
    const whole = JSON.stringify(entriesOf(checkedRow(row ?? {}, "bridle.db")));
    const changedText = whole.replace('"final_state":"SUCCEEDED"', '"final_state":"CANCELED"');
    assert.notEqual(changedText, whole);
    // By somebody who knows that rows without a checksum are taken as they are.
    db.prepare("UPDATE log SET events = ?, checksum = NULL WHERE last = ?").run(changedText, row?.last ?? 0);
    db.close();

    await using again = await startServer({ data: own.data });
    const from = new Client(again);
    const changed = await receiptOf(task, from);
    assert.equal(changed.lifecycle.final_state, "CANCELED");
    const answer = await from.post(`/v1/receipts/${task.receipt_id}/verify`);
    assert.equal(answer.body.valid, false);
    const { ok, expected, found, message } = checkNamed(answer, "hash");
    assert.deepEqual(
      { ok, expected, found },
      { ok: false, expected: hashOf(changed), found: chain.receipt_hash },
    );
    assert.equal(answer.body.reason, message);
    assert.equal(checkNamed(answer, "signature[0]").ok, false);
    assert.equal(checkNamed(answer, "schema").ok, true);
    const failed = (await eventsOf(task, from)).filter(
      ({ event }) => event === "receipt.verification_failed",
    );
    assert.equal(failed.length, 1);
  });

  test("RCP-8 verification with an invalid body answers 400 naming the field", async () => {
    // Given a body that asks for nonsense, when a receipt is verified, then it is 400 and names the field.
    const { receipt_id } = await play("return done");
    const path = `/v1/receipts/${receipt_id}/verify`;
    for (const [body, param] of [
      [{ trust_anchor: 7 }, "trust_anchor"],
      [{ trust_anchor: "" }, "trust_anchor"],
      [{ at_time: "yesterday" }, "at_time"],
      [{ at_time: 0 }, "at_time"],
    ] as const) {
      assert.equal(errorOf(await client.post(path, body), 400).param, param);
    }
    for (const raw of ["[]", "null", '"receipt"', "7", "{", "nonsense"]) {
      assert.equal(errorOf(await client.call(path, { raw }), 400).code, "invalid_request", raw);
    }
  });
});

describe("Verification of anybody's", () => {
  let receipt: Json;

  before(async () => {
    const task = await play("step a", "artifact a.txt content", "approve ship", "fail on purpose");
    await respond(task, true);
    receipt = await receiptOf(await ended(task));
    assert.equal(receipt.approvals.length + receipt.final_artifacts.length, 2);
  });

  test("RCP-9 our receipt sent alone or in an envelope is valid, with chain checks left open", async () => {
    // Given one of our receipts, when it is sent alone or in an envelope, then it is valid; what needs the chain is left
    // open.
    const { keys } = (await client.get("/.well-known/jwks.json")).body;
    for (const body of [receipt, { receipt }, { receipt, jwks: { keys } }]) {
      const answer = await verifyForeign(body);
      assert.equal(answer.status, 200);
      assert.equal(answer.body.valid, true, answer.body.reason);
      assert.equal(checkNamed(answer, "hash").found, receipt.chain.receipt_hash);
      assert.equal(checkNamed(answer, "chain_link").ok, null);
      assert.equal(checkNamed(answer, "merkle_root").ok, null);
    }
  });

  /** The same value with the members of every object in the opposite order. */
  function turned(value: Json): Json {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, turned(member)]),
    );
  }

  test("RCP-9 a receipt with reordered members and white space is valid", async () => {
    // Given a receipt whose members stand in another order, with white space between, when it is sent, then it is valid.
    const other = turned(receipt);
    assert.notEqual(JSON.stringify(other), JSON.stringify(receipt));
    for (const raw of [
      JSON.stringify(other),
      JSON.stringify(other, null, "\t"),
      ` ${JSON.stringify(receipt)}\n`,
    ]) {
      assert.equal((await client.call("/v1/receipts/verify", { raw })).body.valid, true);
    }
  });

  type Path = (string | number)[];

  /** Every place in a value. */
  function placesIn(value: Json, path: Path = []): Path[] {
    if (typeof value !== "object" || value === null) return [path];
    const names: Path = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
    return [path, ...names.flatMap((name) => placesIn(value[name], [...path, name]))];
  }

  /** A copy in which the change was made to whatever holds the place. */
  function changed(path: Path, change: (holder: Json, name: string | number) => void): Json {
    const copy = structuredClone(receipt);
    const holder = path.slice(0, -1).reduce((inner: Json, name) => inner[name], copy);
    change(holder, path.at(-1) ?? "");
    return copy;
  }

  function another(value: Json): Json {
    if (typeof value === "string") return value === "x" ? "y" : `${value}x`;
    if (typeof value === "number") return value + 1;
    return typeof value === "boolean" ? !value : "x";
  }

  test("RCP-9 a receipt with any one value changed, removed or added is invalid", async () => {
    // Given a receipt, when any one value in it is changed, taken away or added to, then it is not valid.
    const places = placesIn(receipt);
    assert.ok(places.length > 80, String(places.length));
    const forgeries = places.flatMap((path): [string, Json][] => {
      const value = path.reduce((inner: Json, name) => inner[name], receipt);
      const where = path.join("/");
      const added: [string, Json][] =
        typeof value !== "object" || value === null
          ? [
              [
                `other ${where}`,
                changed(path, (holder, name) => Object.assign(holder, { [name]: another(value) })),
              ],
            ]
          : Array.isArray(value)
            ? [
                [
                  `longer ${where}`,
                  changed([...path, value.length], (holder) => holder.push(holder[0] ?? {})),
                ],
              ]
            : [[`more in ${where}`, changed([...path, "x"], (holder) => Object.assign(holder, { x: 1 }))]];
      if (path.length === 0) return added;
      const taken = changed(path, (holder, name) =>
        Array.isArray(holder) ? holder.splice(Number(name), 1) : Reflect.deleteProperty(holder, name),
      );
      return [...added, [`no ${where}`, taken]];
    });
    for (const [what, forgery] of forgeries) {
      const { status, body } = await verifyForeign({ receipt: forgery });
      assert.equal(status, 200, what);
      assert.equal(body.valid, false, what);
      assert.equal(typeof body.reason, "string", what);
    }
  });

  test("RCP-9 a changed receipt with a recomputed hash fails by its signature", async () => {
    // Given a changed receipt with its hash made right again, when it is sent, then the signature gives it away.
    const forged = structuredClone(receipt);
    forged.lifecycle.final_state = "SUCCEEDED";
    forged.chain.receipt_hash = hashOf(forged);
    const answer = await verifyForeign(forged);
    assert.equal(answer.body.valid, false);
    assert.equal(checkNamed(answer, "hash").ok, true);
    assert.equal(checkNamed(answer, "signature[0]").ok, false);
  });

  /** The receipt as somebody else would have issued it. */
  function issuedElsewhere(kid: string): { receipt: Json; jwks: Json } {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const foreign = structuredClone(receipt);
    foreign.issuer = { id: "harness_elsewhere", kind: "harness", public_key_id: kid };
    foreign.chain.receipt_hash = hashOf(foreign);
    const bytes = Buffer.from(foreign.chain.receipt_hash, "ascii");
    const signature = `base64:${sign(null, bytes, privateKey).toString("base64")}`;
    foreign.signatures = [{ key_id: kid, algorithm: "ed25519", signature }];
    return { receipt: foreign, jwks: { keys: [{ ...publicKey.export({ format: "jwk" }), kid }] } };
  }

  test("RCP-9 a foreign receipt is valid only with its issuer's keys", async () => {
    // Given a receipt from elsewhere, when it is sent with its issuer's keys, then it is valid, and without them it is
    // not.
    const foreign = issuedElsewhere("key_elsewhere");
    assert.equal((await verifyForeign(foreign)).body.valid, true);
    const alone = await verifyForeign(foreign.receipt);
    assert.equal(alone.body.valid, false);
    assert.equal(checkNamed(alone, "signature[0]").ok, false);
    const stranger = issuedElsewhere("key_elsewhere");
    assert.equal((await verifyForeign({ ...foreign, jwks: stranger.jwks })).body.valid, false);
  });

  test("RCP-9 our key decides on a receipt of a foreign key with the same id", async () => {
    // Given a foreign key that has taken the name of ours, when its receipt is sent alone, then ours decides.
    const foreign = issuedElsewhere(receipt.issuer.public_key_id);
    assert.equal((await verifyForeign(foreign)).body.valid, true);
    assert.equal((await verifyForeign(foreign.receipt)).body.valid, false);
  });

  test("RCP-9 our receipt sent with foreign keys is invalid, without fallback to our keys", async () => {
    // Given one of our receipts, when it is sent with keys that are not ours, then our keys do not help it.
    for (const jwks of [{ keys: [] }, issuedElsewhere("key_elsewhere").jwks]) {
      assert.equal((await verifyForeign({ receipt, jwks })).body.valid, false);
    }
  });

  test("RCP-9 a malformed key set answers 400, without fallback to our keys", async () => {
    // Given something that is no key set, when a receipt is sent with it, then it is 400 and our keys do not stand in
    // for it.
    for (const jwks of ["keys", 7, [], {}, { keys: "none" }, { keys: [1] }, { keys: null }]) {
      const answer = await verifyForeign({ receipt, jwks });
      assert.equal(errorOf(answer, 400).code, "invalid_request", JSON.stringify(jwks));
    }
  });

  test("RCP-9 objects that are not receipts are reported as invalid", async () => {
    // Given objects that are no receipts, when they are sent, then they are found to be invalid.
    const deep = JSON.parse(`${'{"a":'.repeat(90)}1${"}".repeat(90)}`);
    const { signatures: _, ...unsigned } = receipt;
    for (const body of [{}, { receipt: {} }, { chain: {} }, { chain: { receipt_hash: 1 } }, deep, unsigned]) {
      const { status, body: answer } = await verifyForeign(body);
      assert.equal(status, 200);
      assert.equal(answer.valid, false);
      assert.equal(typeof answer.reason, "string");
    }
  });

  test("RCP-9 given JSON that can be read in two ways, when it is sent, then it is 400", async () => {
    const text = JSON.stringify(receipt);
    const ambiguous: Record<string, string> = {
      "a member twice": text.replace("{", '{"schema":"receipt-2026-04-25",'),
      "a member twice, deep inside": text.replace('"lifecycle":{', '"lifecycle":{"final_state":"SUCCEEDED",'),
      "a member twice, once escaped": text.replace("{", '{"sch\\u0065ma":"receipt-2026-04-25",'),
      "a number with a needless fraction": text.replace('"total":0', '"total":0.0'),
      "a number with an exponent": text.replace('"total":0', '"total":0e0'),
      "a negative zero": text.replace('"total":0', '"total":-0'),
      "a number that cannot be held": text.replace('"total":0', '"total":9007199254740993'),
      "a needless escape": text.replace('"kind":"harness"', '"kind":"h\\u0061rness"'),
      "half a letter": text.replace('"metadata":{', '"metadata":{"half":"\\ud800",'),
    };
    for (const [what, raw] of Object.entries(ambiguous)) {
      assert.notEqual(raw, text, what);
      const error = errorOf(await client.call("/v1/receipts/verify", { raw }), 400);
      assert.equal(error.code, "invalid_request", what);
    }
  });

  test("RCP-9 given bytes that are no UTF-8, when they are sent, then it is 400", async () => {
    const text = Buffer.from(JSON.stringify(receipt));
    const at = text.indexOf("rehearsal");
    text[at] = 0xff;
    const response = await fetch(`${client.url}/v1/receipts/verify`, {
      method: "POST",
      headers: client.headers({ "content-type": "application/json" }),
      body: text,
    });
    assert.equal(response.status, 400);
  });

  test("RCP-9 given a body that is no object, when it is sent, then it is 400", async () => {
    for (const raw of [
      "[]",
      "null",
      "7",
      '"receipt"',
      "true",
      "",
      "{",
      "\ufeff{}",
      `[${JSON.stringify(receipt)}]`,
    ]) {
      const answer = await client.call("/v1/receipts/verify", { raw });
      assert.equal(errorOf(answer, 400).code, "invalid_request", raw.slice(0, 20));
    }
  });
});

describe("The signing key", () => {
  /** The text of a private key without its first and last line. */
  const keyText = (pem: string) => pem.replaceAll(/-----.*-----|\s/g, "");

  /** Whether any file in a directory has the text in it. */
  async function isAnywhere(directory: string, text: string): Promise<boolean> {
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      if ((await readFile(join(entry.parentPath, entry.name))).includes(text)) return true;
    }
    return false;
  }

  /** Rotated, ended and started again by each of these tests. */
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let own: TestProcess;
  before(async () => {
    directory = await temporaryDirectory();
    own = await startProcess({ data: directory.path });
  });
  after(async () => {
    await own[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  test("RCP-10 after a rotation the new key signs, old receipts verify, old private key is gone", async () => {
    // Given a rotated key, when tasks end before and after, then new receipts have the new key, old ones still verify,
    // and the old private key is gone.
    const from = new Client(own);
    const session = (await from.createSession()).id;
    const file = join(own.data, "signing.key");
    const before = await receiptOf(await from.rehearse(session, "return before"), from);
    const oldPem = await readFile(file, "utf8");
    assert.equal(await isAnywhere(own.data, keyText(oldPem)), true);

    const rotated = await from.post("/v1/signing-keys/rotate");
    assert.equal(rotated.status, 201);
    assert.ok(!("d" in rotated.body.jwk));
    const now = await receiptOf(await from.rehearse(session, "return after"), from);
    const [oldId, newId] = [before, now].map(({ signatures }) => signatures[0].key_id);
    assert.notEqual(oldId, newId);
    assert.equal(newId, rotated.body.id);
    assert.equal(now.issuer.public_key_id, newId);
    assert.equal(now.issuer.id, before.issuer.id, "another key is not another issuer");
    assert.deepEqual([...(await keysOf(from)).keys()], [oldId, newId]);
    for (const { receipt_id } of [before, now]) {
      assert.equal((await from.post(`/v1/receipts/${receipt_id}/verify`)).body.valid, true);
    }
    assert.equal((await readChain(from, "workspace_default")).length, 2);

    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(await isAnywhere(own.data, keyText(oldPem)), false, "the old private key is still there");
    const newPem = await readFile(file, "utf8");
    assert.ok(!own.output().includes(keyText(newPem)));
    assert.equal(await isAnywhere(own.data, keyText(newPem)), true);

    await own.kill();
    own = await startProcess({ data: own.data });
    const later = new Client(own);
    const last = await receiptOf(await later.rehearse(session, "return later"), later);
    assert.equal(last.signatures[0].key_id, newId);
    assert.deepEqual([...(await keysOf(later)).keys()], [oldId, newId]);
    assert.equal((await readChain(later, "workspace_default")).length, 3);
    assert.equal((await later.post(`/v1/receipts/${before.receipt_id}/verify`)).body.valid, true);
  });

  test("RCP-10 receipts issued during key rotations all verify, and the last key signs", async () => {
    // Given tasks that end while keys are rotated, when all is done, then every receipt verifies and the last key signs.
    const from = new Client(own);
    const session = (await from.createSession()).id;
    const [issued, known] = [(await readChain(from, "workspace_default")).length, (await keysOf(from)).size];
    const work = Promise.all(
      Array.from({ length: 60 }, () => from.rehearse(session, "step a", "return done")),
    );
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push((await from.post("/v1/signing-keys/rotate")).body.id);
    await Promise.all([from.post("/v1/signing-keys/rotate"), from.post("/v1/signing-keys/rotate")]);
    await work;
    assert.equal((await readChain(from, "workspace_default")).length, issued + 60);
    assert.equal((await keysOf(from)).size, known + 7);
    const { receipt_id } = await from.rehearse(session, "return last");
    const [{ key_id }] = (await receiptOf({ receipt_id }, from)).signatures;
    assert.ok(!ids.includes(key_id), "a retired key signed");
    await own.stop();
    const retired = (await assertRebuildable(own.data))
      .filter(({ event }) => event === "vendor.bridle.signing_key.retired")
      .map(({ resource }) => resource.id);
    assert.equal(retired.length, known + 6, "all but the last one");
    assert.ok(!retired.includes(key_id), "a retired key signed");
  });

  test("RCP-10 a server that dies during a rotation does not sign with a retired key afterwards", async () => {
    // Given a server that dies in the middle of a rotation, when it is started again, then the key that it signs with is
    // not one that its log calls retired.
    await own.stop();
    {
      const env = { BRIDLE_FAIL_POINT: "commit.durable:1" };
      await using fragile = await startProcess({ data: directory.path, env });
      await assert.rejects(new Client(fragile).post("/v1/signing-keys/rotate"), TypeError);
    }
    await using again = await startServer({ data: directory.path });
    const from = new Client(again);
    const receipt = await receiptOf(
      await from.rehearse((await from.createSession()).id, "return done"),
      from,
    );
    assertSound(receipt, await keysOf(from));
    await again.stop();
    const log = await assertRebuildable(directory.path);
    const retired = log.filter(({ event }) => event === "vendor.bridle.signing_key.retired");
    assert.ok(!retired.some(({ resource }) => resource.id === receipt.signatures[0].key_id));
  });

  test("RCP-10 a caller who is not the operator gets 403 for a key rotation, and the key stays", async () => {
    // Given somebody who does not run the server, when they rotate the key, then it is 403 and the key stays.
    const before = await keysOf(client);
    const callers = [
      await client.withScopes("receipts:read", "receipts:write"),
      client.as((await client.createKey({ tenant_id: "tenant_rotating" })).key),
    ];
    for (const caller of callers) {
      assert.equal(errorOf(await caller.post("/v1/signing-keys/rotate"), 403).code, "permission_denied");
    }
    assert.deepEqual(await keysOf(client), before);
  });
});

describe("CBOR", () => {
  const mediaType = "application/vnd.harn.receipt+cbor";

  async function readCbor(id: string, accept: string): Promise<{ type: string | null; bytes: Buffer }> {
    const response = await fetch(`${client.url}/v1/receipts/${id}`, { headers: client.headers({ accept }) });
    assert.equal(response.status, 200);
    return {
      type: response.headers.get("content-type"),
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  }

  /** RFC 8949, section 4.2.1, for what there is in receipts: text, whole numbers, lists, maps, true, false, null. */
  function encoded(value: Json): Buffer {
    if (value === null) return Buffer.of(0xf6);
    if (typeof value === "boolean") return Buffer.of(value ? 0xf5 : 0xf4);
    if (typeof value === "string")
      return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
    if (typeof value === "number") {
      assert.ok(Number.isSafeInteger(value) && value >= 0, String(value));
      return head(0, value);
    }
    if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encoded)]);
    const members = Object.entries(value).map(([name, member]) => [encoded(name), encoded(member)] as const);
    members.sort(([a], [b]) => Buffer.compare(a, b));
    return Buffer.concat([head(5, members.length), ...members.flat()]);
  }

  function head(major: number, size: number): Buffer {
    const type = major << 5;
    if (size < 24) return Buffer.of(type | size);
    if (size < 2 ** 8) return Buffer.of(type | 24, size);
    const long = size < 2 ** 16 ? 2 : size < 2 ** 32 ? 4 : 8;
    const bytes = Buffer.alloc(1 + long);
    bytes[0] = type | { 2: 25, 4: 26, 8: 27 }[long];
    if (long === 8) bytes.writeBigUInt64BE(BigInt(size), 1);
    else bytes.writeUIntBE(size, 1, long);
    return bytes;
  }

  test("RCP-11 a receipt requested as CBOR is the deterministic encoding of the same model", async () => {
    // Given a receipt, when it is asked for as CBOR, then the bytes are the deterministic encoding of the same model.
    const task = await play("step a", "artifact ä.txt content", "fail with a wéird 🦊 letter");
    const receipt = await receiptOf(task);
    const { type, bytes } = await readCbor(task.receipt_id, mediaType);
    assert.equal(type, mediaType);
    assert.deepEqual(decode(bytes), receipt);
    assert.deepEqual(bytes, encoded(receipt));
    assert.deepEqual((await readCbor(task.receipt_id, mediaType)).bytes, bytes);
    assert.equal(hashOf(decode(bytes)), receipt.chain.receipt_hash);
  });

  test("RCP-11 a receipt requested in any other type is JSON, with Accept in its Vary header", async () => {
    // Given other wishes, when a receipt is read, then it is JSON, and caches are told what it depends on.
    const { receipt_id } = await play("return done");
    for (const accept of ["*/*", "application/json", "text/html", `${mediaType};q=0, application/json`]) {
      const { type, bytes } = await readCbor(receipt_id, accept);
      assert.match(type ?? "", /^application\/json/, accept);
      assert.equal(JSON.parse(bytes.toString()).receipt_id, receipt_id);
    }
    const { headers } = await client.get(`/v1/receipts/${receipt_id}`);
    assert.match(headers.get("vary") ?? "", /accept/i);
  });
});

describe("Who may see receipts", () => {
  const reads: Record<string, (caller: Client, id: string) => Promise<Answer>> = {
    "reads it": (caller, id) => caller.get(`/v1/receipts/${id}`),
    "asks for a proof": (caller, id) => caller.get(`/v1/receipts/${id}/proof`),
    "verifies it": (caller, id) => caller.post(`/v1/receipts/${id}/verify`),
  };
  const lists: Record<string, (task: Json) => string> = {
    "all receipts": () => "/v1/receipts",
    "those of the workspace": ({ workspace_id }) => `/v1/receipts?workspace_id=${workspace_id}`,
    "those of the session": ({ session_id }) => `/v1/receipts?session_id=${session_id}`,
    "those of the task": ({ id }) => `/v1/receipts?task_id=${id}`,
  };
  const others: Record<string, () => Promise<Client>> = {
    "another tenant": async () => client.as((await client.createKey({ tenant_id: "tenant_curious" })).key),
    "a key bound to another workspace": async () =>
      client.as((await client.createKey({ workspace_ids: [await newWorkspace()] })).key),
  };

  for (const [who, make] of Object.entries(others)) {
    test(`RCP-13 given ${who}, when it asks for our receipt in any way, then there is none`, async () => {
      const other = await make();
      const task = await play("return done");
      for (const [what, ask] of Object.entries(reads)) {
        const error = errorOf(await ask(other, task.receipt_id), 404);
        assert.equal(error.code, "resource_not_found", what);
        assert.ok(!JSON.stringify(error).includes(task.session_id), what);
      }
      assert.equal(errorOf(await other.get(`/v1/tasks/${task.id}/receipts`), 404).code, "resource_not_found");
      for (const [what, path] of Object.entries(lists)) {
        assert.deepEqual(await other.listAll(path(task)), [], what);
        assert.notDeepEqual(await client.listAll(path(task)), [], what);
      }
      const events = await eventsOf(task);
      assert.ok(
        !events.some(({ event }) => event.startsWith("receipt.verif")),
        "a stranger wrote to our log",
      );
    });
  }

  test("RCP-13 a key with every scope but receipts:read gets 403 on every receipt request", async () => {
    // Given a key with every scope but receipts:read, when it asks for receipts in any way, then it is 403.
    const all = [
      "tasks:read",
      "tasks:write",
      "sessions:read",
      "events:read",
      "artifacts:read",
      "receipts:write",
    ];
    const caller = await client.withScopes(...all);
    const task = await play("return done");
    const receipt = await receiptOf(task);
    const answers: Record<string, Answer> = {
      "verifies one from anywhere": await caller.post("/v1/receipts/verify", receipt),
      "lists those of a task": await caller.get(`/v1/tasks/${task.id}/receipts`),
    };
    for (const [what, path] of Object.entries(lists)) answers[what] = await caller.get(path(task));
    for (const [what, ask] of Object.entries(reads)) answers[what] = await ask(caller, task.receipt_id);
    for (const [what, answer] of Object.entries(answers)) {
      const error = errorOf(answer, 403);
      assert.equal(error.code, "permission_denied", what);
      assert.equal(error.details.required_scope, "receipts:read", what);
    }
  });

  test("RCP-13 given a key with receipts:read alone, when it asks for receipts, then it gets them", async () => {
    const caller = await client.withScopes("receipts:read");
    const task = await play("return done");
    for (const [what, ask] of Object.entries(reads))
      assert.equal((await ask(caller, task.receipt_id)).status, 200, what);
    for (const path of Object.values(lists)) assert.notDeepEqual(await caller.listAll(path(task)), []);
    assert.equal((await caller.listAll(`/v1/tasks/${task.id}/receipts`)).length, 1);
    assert.equal((await caller.post("/v1/receipts/verify", await receiptOf(task))).body.valid, true);
  });

  test("RCP-13 given an id that nobody has, when it is asked for in any way, then it is 404", async () => {
    for (const id of ["receipt_nobody", "receipt_chain.workspace_default", "workspace_default", "verify"]) {
      for (const [what, ask] of Object.entries(reads)) {
        assert.equal(errorOf(await ask(client, id), 404).code, "resource_not_found", `${what}: ${id}`);
      }
    }
    assert.equal(errorOf(await client.get("/v1/tasks/task_nobody/receipts"), 404).code, "resource_not_found");
  });

  test("RCP-7 RCP-8 a replay's receipt is in no chain: it verifies, and its proof is a conflict", async () => {
    // Given the receipt of a replay, when it is asked for, then it is in no chain: it verifies, and a proof is a
    // conflict.
    const task = await play("return done");
    const answer = await client.post(`/v1/tasks/${task.id}/replay`, {}, { prefer: "wait=30" });
    assert.equal(answer.body.status, "COMPLETED", JSON.stringify(answer.body));
    const { receipt_id } = answer.body;
    const receipt = await receiptOf(answer.body);
    assertSound(receipt, await keysOf(client));
    assert.equal(receipt.subject.object, "replay_segment");
    const error = errorOf(await client.get(`/v1/receipts/${receipt_id}/proof`), 409);
    assert.equal(error.code, "conflict");
    const verified = await verifyStored(receipt_id);
    assert.equal(verified.body.valid, true, verified.body.reason);
    assert.equal(checkNamed(verified, "chain_link").found, (await receiptOf(task)).chain.receipt_hash);
    assert.equal(checkNamed(verified, "merkle_root").ok, null);
  });
});

describe("A persona that wants none", () => {
  type Wish = Pick<PersonaRecord, "id" | "receipt_policy">;

  const createPersona: Command<Wish, PersonaRecord> = {
    name: "create_persona",
    scope: "admin",
    decide(unit, { id, receipt_policy }) {
      const persona: PersonaRecord = {
        ...unit.envelope("persona", "persona"),
        id,
        metadata: {},
        name: "Discreet",
        version: "3",
        entry_workflow: "rehearsal",
        description: "Plays scripts.",
        autonomy_tier: "suggest",
        receipt_policy,
      };
      return unit.emit(persona, "vendor.bridle.persona.created", { persona });
    },
  };

  test("RCP-14 RCP-2 only a persona that disables receipts gets none for tasks and permissions", async () => {
    // Given personas with each receipt policy, when their tasks end and their permissions are decided, then only the one
    // that disabled receipts has none.
    await using directory = await temporaryDirectory();
    const logger = pino({ level: "silent" });
    const here = await startHere({ port: 0, dataDirectory: directory.path, apiKey: adminKey, logger });
    await using _ = { [Symbol.asyncDispose]: async () => void (await here.stop(1000)) };
    const from = new Client(here);
    const { id: session_id, workspace_id } = await from.createSession();
    for (const receipt_policy of ["disabled", "optional", "required"] as const) {
      const id = `persona_${receipt_policy}`;
      await here.kernel.dispatch(createPersona, systemCaller(defaultTenantId), { id, receipt_policy });
      const receipts: (string | null)[] = [];
      for (const text of ["artifact a.txt content", "fail on purpose", "approve ship", "approve it"]) {
        const body = { session_id, persona_id: id, input: userMessage(text) };
        const waiting = (await from.post("/v1/tasks", body, { prefer: "wait=30" })).body;
        const requestId = waiting.waiting_for?.permission_request_id;
        if (text === "approve ship") {
          await from.post(`/v1/permission-requests/${requestId}/respond`, { approved: true });
        } else if (text === "approve it") {
          await cancel(waiting, null, from);
        }
        const task = await from.untilTask(waiting.id, isFinal);
        const outcome = (await from.get(`/v1/outcomes/${task.outcome_id}`)).body;
        const requests = await from.listAll(`/v1/tasks/${task.id}/permission-requests`);
        assert.equal(outcome.receipt_id, task.receipt_id);
        const ids = [task, ...requests].map(({ receipt_id }) => receipt_id);
        receipts.push(...ids);
        const listed = await from.listAll(`/v1/tasks/${task.id}/receipts`);
        assert.equal(listed.length, receipt_policy === "disabled" ? 0 : ids.length);
        const issued = (await eventsOf(task, from)).filter(({ event }) => event === "receipt.issued");
        assert.equal(issued.length, listed.length);
      }
      assert.equal(receipts.length, 6);
      assert.ok(receipts.every((receipt) => (receipt === null) === (receipt_policy === "disabled")));
      if (receipt_policy === "disabled") assert.deepEqual(await from.listAll("/v1/receipts"), []);
    }
    const chain = await readChain(from, workspace_id);
    assert.equal(chain.length, 12);
    const policies = new Set(
      chain.map(({ trust }) => `${trust.start_tier} ${trust.end_tier} ${trust.policy_ref}`),
    );
    assert.deepEqual(
      [...policies],
      ["suggest suggest persona_optional@3", "suggest suggest persona_required@3"],
    );
  });
});

describe("Lists", () => {
  let workspace: string;
  let sessions: Json[];
  /** The receipts in the order in which they were issued. */
  let issued: string[];

  before(async () => {
    workspace = await newWorkspace();
    sessions = [
      await client.createSession({ workspace_id: workspace }),
      await client.createSession({ workspace_id: workspace }),
    ];
    issued = [];
    for (let n = 0; n < 7; n++) {
      issued.push((await client.rehearse(sessions[n % 2].id, `return ${n}`)).receipt_id);
    }
  });

  const idsIn = async (path: string, limit?: number): Promise<string[]> =>
    (await client.listAll(path, limit)).map(({ receipt_id }) => receipt_id);

  test("RCP-15 each filter lists its own full receipts, newest first", async () => {
    // Given receipts of two sessions, when they are listed, then each filter gives its own, newest first, each the
    // receipt itself.
    const newest = issued.toReversed();
    assert.deepEqual(await idsIn(`/v1/receipts?workspace_id=${workspace}`), newest);
    for (const [n, { id }] of sessions.entries()) {
      const own = newest.filter((receipt) => issued.indexOf(receipt) % 2 === n);
      assert.deepEqual(await idsIn(`/v1/receipts?session_id=${id}`), own);
      assert.deepEqual(await idsIn(`/v1/receipts?session_id=${id}&workspace_id=${workspace}`), own);
      assert.deepEqual(await idsIn(`/v1/receipts?session_id=${id}&workspace_id=workspace_default`), []);
    }
    const [first] = await client.listAll(`/v1/receipts?workspace_id=${workspace}`);
    assert.deepEqual(first, await receiptOf(first));
    assert.deepEqual(await idsIn(`/v1/receipts?task_id=${first.identifiers.task_id}`), [first.receipt_id]);
    const everywhere = await idsIn("/v1/receipts");
    assert.deepEqual(everywhere.slice(0, newest.length), newest);
  });

  for (const limit of [1, 2, 3, 7, 8]) {
    test(`RCP-15 walking the receipts in pages of ${limit} returns each once`, async () => {
      // Given pages of ${limit}, when a list of receipts is walked by its cursors, then each is there once.
      assert.deepEqual(await idsIn(`/v1/receipts?workspace_id=${workspace}`, limit), issued.toReversed());
      const { body } = await client.get(`/v1/receipts?workspace_id=${workspace}&limit=${limit}`);
      assert.equal(body.object, "list");
      assert.equal(body.data.length, Math.min(limit, 7));
      assert.equal(body.page.has_more, limit < 7);
    });
  }

  test("RCP-15 a walk through the receipts keeps its place while new ones are issued", async () => {
    // Given receipts that are issued while a list is walked, when it goes on, then it goes on where it was.
    const path = `/v1/receipts?session_id=${sessions[0].id}&limit=2`;
    const first = (await client.get(path)).body;
    await client.rehearse(sessions[0].id, "return more");
    const second = (await client.get(`${path}&cursor=${encodeURIComponent(first.page.next_cursor)}`)).body;
    assert.deepEqual(
      [...first.data, ...second.data].map(({ receipt_id }) => receipt_id),
      [6, 4, 2, 0].map((n) => issued[n]),
    );
  });

  test("RCP-15 listing receipts while they are being issued always returns a list", async () => {
    // Given receipts that are being issued, when they are listed again and again, then every answer is a list.
    const { id } = await client.createSession({ workspace_id: workspace });
    const done = { yet: false };
    const listing = Array.from({ length: 4 }, async () => {
      const statuses = new Set<number>();
      while (!done.yet) {
        statuses.add((await client.get(`/v1/receipts?session_id=${id}&limit=5`)).status);
        statuses.add((await client.get(`/v1/receipts?workspace_id=${workspace}&limit=5`)).status);
      }
      return [...statuses];
    });
    for (let round = 0; round < 4; round++) {
      await Promise.all(Array.from({ length: 50 }, () => client.rehearse(id, "step a", "return done")));
    }
    done.yet = true;
    assert.deepEqual([...new Set((await Promise.all(listing)).flat())], [200]);
    assert.equal((await idsIn(`/v1/receipts?session_id=${id}`)).length, 200);
  });

  test("RCP-15 a task's list has its own and its approvals' receipts, newest first", async () => {
    // Given a task with approvals, when its receipts are listed, then they are its own and its approvals', newest first.
    const task = await run("petitioner", { actions: ["build", "ship"] });
    const decided = [await respond(task, true), await respond(task, false)];
    const { receipt_id } = await ended(task);
    const expected = [receipt_id, decided[1].receipt_id, decided[0].receipt_id];
    assert.deepEqual(await idsIn(`/v1/tasks/${task.id}/receipts`), expected);
    assert.deepEqual(await idsIn(`/v1/tasks/${task.id}/receipts`, 1), expected);
    assert.deepEqual(await idsIn(`/v1/receipts?task_id=${task.id}`), expected);
  });

  test("RCP-15 the list of a task that has not ended has only its decisions' receipts", async () => {
    // Given a task that has not ended, when its receipts are listed, then there are those of its decisions only.
    const task = await run("petitioner", { actions: ["build", "ship"] });
    assert.deepEqual(await idsIn(`/v1/tasks/${task.id}/receipts`), []);
    const { receipt_id } = await respond(task, true);
    assert.deepEqual(await idsIn(`/v1/tasks/${task.id}/receipts`), [receipt_id]);
    await client.untilTask(task.id, ({ waiting_for }) => waiting_for !== null);
    await cancel(task);
  });

  test("RCP-15 an invalid cursor or limit answers 400 naming it", async () => {
    // Given a cursor or a limit that cannot be, when receipts are listed, then it is 400 and names it.
    for (const [query, param] of [
      ["limit=0", "limit"],
      ["limit=201", "limit"],
      ["limit=many", "limit"],
      ["cursor=nonsense", "cursor"],
    ]) {
      assert.equal(errorOf(await client.get(`/v1/receipts?${query}`), 400).param, param);
    }
  });
});
