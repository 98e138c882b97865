/** A session's log taken from one server to another: what arrives, what is refused, and that it is the same there. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import canonicalize from "canonicalize";
import { bridle, errorLine, succeeded } from "./support/cli.ts";
import { type Answer, type Client, errorOf, isFinal, type Json, userMessage } from "./support/client.ts";
import { download, exportOf, importInto, Log, sha256Of } from "./support/exported-log.ts";
import { assertRebuildable } from "./support/log.ts";
import { temporaryDirectory } from "./support/server.ts";
import { startTravel, type Travel } from "./support/travel.ts";

/** What anybody can see of a session, its tasks and what they left behind, but for who brought it. */
async function seenOf(client: Client, sessionId: string): Promise<Json> {
  const list = (kind: string) => client.listAll(`/v1/${kind}?session_id=${sessionId}`);
  const artifacts = await list("artifacts");
  // Where the last event stands in the log is the server's own affair.
  const { last_event_id, ...session } = (await client.get(`/v1/sessions/${sessionId}`)).body;
  assert.match(last_event_id, /^evt_/);
  const seen = {
    session,
    messages: await client.listAll(`/v1/sessions/${sessionId}/messages`),
    tasks: await list("tasks"),
    artifacts,
    contents: await Promise.all(artifacts.map(({ id }) => contentOf(client, id))),
    receipts: byId(await list("receipts")),
  };
  return withoutMarks(seen);
}

function withoutMarks(seen: object): Json {
  return JSON.parse(JSON.stringify(seen), (name, value) => (name === "imported" ? undefined : value));
}

/** Receipts that were issued in the same commit have no order among themselves. */
function byId(receipts: Json[]): Json[] {
  return receipts.sort((a, b) => (a.receipt_id < b.receipt_id ? -1 : 1));
}

async function contentOf(client: Client, artifactId: string): Promise<string> {
  const response = await fetch(`${client.url}/v1/artifacts/${artifactId}/content`, {
    headers: client.headers(),
  });
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer()).toString("hex");
}

async function replayed(client: Client, taskId: string, request: object): Promise<Json> {
  const { status, body } = await client.post(`/v1/tasks/${taskId}/replay`, request);
  assert.equal(status, 202, JSON.stringify(body));
  return await client.untilTask(body.id, isFinal);
}

/** The bytes that are hashed and signed, and nothing that says by whom. */
async function canonicalReceipt(client: Client, receiptId: string): Promise<string> {
  const { status, body } = await client.get(`/v1/receipts/${receiptId}`);
  assert.equal(status, 200, JSON.stringify(body));
  const { signatures, ...receipt } = body;
  assert.ok(signatures.length > 0);
  return canonicalize(receipt) ?? "";
}

describe("from one server to another", () => {
  test("TRF-1 an exported session imports with the same ids and documents that match its events", async () => {
    // Given a session of tasks that ended in every way, when it is exported and imported with bridle, then the second
    // server shows the same of it under the same ids, and its documents are what its events say.
    await using source = await startTravel();
    await using target = await startTravel();
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "session.jsonl");
    const session = await source.client.createSession({ metadata: { purpose: "moving" } });
    await source.client.post(`/v1/sessions/${session.id}/messages`, { message: userMessage("Hello.") });
    const words = "large child artifact stream secret ask approve";
    const completed = await source.complete(session.id, words);
    const denied = await source.complete(session.id, "approve", false);
    const failed = await source.complete(session.id, "fail");
    const asking = await source.begin(session.id, "ask");
    const { body: canceled } = await source.client.post(`/v1/tasks/${asking.id}/cancel`);
    const { status } = await replayed(source.client, failed.id, { mode: "exact" });
    assert.deepEqual(
      [completed, denied, failed, canceled].map((task) => task.status),
      ["COMPLETED", "FAILED", "FAILED", "CANCELED"],
    );
    assert.equal(status, "FAILED");

    const exported = await bridle(["export", session.id, "--out", file], { server: source.server });
    assert.equal(succeeded(exported), "");
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n").length;
    assert.equal(exported.stderr, `${lines} lines of ${session.id} in ${file}.\n`);
    const imported = await bridle(["import", file], { server: target.server });
    assert.equal(succeeded(imported), `Imported ${session.id}.\n`);

    const there = await seenOf(source.client, session.id);
    assert.equal(there.tasks.length, 6);
    assert.deepEqual(
      there.artifacts.map(({ name }: Json) => name),
      ["log.txt", "plan.txt"],
    );
    assert.ok(there.receipts.length >= 5);
    assert.deepEqual(await seenOf(target.client, session.id), there);
    const requests = `/v1/permission-requests?session_id=${session.id}`;
    assert.deepEqual(
      withoutMarks(await target.client.listAll(requests)),
      await source.client.listAll(requests),
    );
    await target.server.stop();
    await assertRebuildable(target.data);
  });

  test("TRF-1 re-exporting an imported session to a third server shows the same on all three", async () => {
    // Given a session that was imported, when it is exported there and imported by a third server, then all three show
    // the same.
    await using first = await startTravel();
    await using second = await startTravel();
    await using third = await startTravel();
    const session = await first.client.createSession();
    await first.complete(session.id, "large artifact ask");
    for (const [from, to] of [
      [first, second],
      [second, third],
    ] as const) {
      const { status, body } = await importInto(to.client, await exportOf(from.client, session.id));
      assert.equal(status, 201, JSON.stringify(body));
    }
    const there = await seenOf(first.client, session.id);
    assert.equal(there.receipts.length, 1);
    assert.deepEqual(await seenOf(second.client, session.id), there);
    assert.deepEqual(await seenOf(third.client, session.id), there);
    await third.server.stop();
    await assertRebuildable(third.data);
  });

  test("TRF-1 an import creates the missing workspace by name, and it takes new sessions", async () => {
    // Given a session in a workspace that the second server does not have, when it is imported, then the workspace is
    // there under its name and takes new sessions.
    await using source = await startTravel();
    await using target = await startTravel();
    const { body: workspace } = await source.client.post("/v1/workspaces", { name: "Journeys", root: "/j" });
    const session = await source.client.createSession({ workspace_id: workspace.id });
    await source.complete(session.id, "plain");
    const { status, body } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201, JSON.stringify(body));
    const { body: found } = await target.client.get(`/v1/workspaces/${workspace.id}`);
    assert.deepEqual([found.name, found.root], ["Journeys", "/j"]);
    const next = await target.client.createSession({ workspace_id: workspace.id });
    assert.equal((await target.complete(next.id, "plain")).status, "COMPLETED");
    await target.server.stop();
    await assertRebuildable(target.data);
  });

  test("TRF-1 a session larger than the request limit exports and imports completely", async () => {
    // Given a session with more content than an ordinary request may have, when it is exported and imported with bridle,
    // then all of it arrives.
    await using source = await startTravel();
    await using target = await startTravel();
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "session.jsonl");
    const session = await source.client.createSession();
    const task = await source.complete(session.id, "huge");
    succeeded(await bridle(["export", session.id, "--out", file], { server: source.server }));
    assert.ok((await readFile(file)).length > 8 * 1024 * 1024);
    succeeded(await bridle(["import", file], { server: target.server }));
    const replay = await replayed(target.client, task.id, { mode: "exact" });
    assert.equal(replay.status, "COMPLETED", JSON.stringify(replay.failure));
  });

  test("TRF-1 a session that has been forked still exports and imports", async () => {
    // Given a session that was forked afterwards, when it is exported, then it can be imported all the same.
    await using source = await startTravel();
    await using target = await startTravel();
    const session = await source.client.createSession();
    await source.complete(session.id, "plain");
    const fork = await source.client.post(`/v1/sessions/${session.id}/fork`, {});
    assert.ok(fork.status < 300, JSON.stringify(fork.body));
    const { status, body } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(await seenOf(target.client, session.id), await seenOf(source.client, session.id));
  });
});

describe("replays here and there", () => {
  test("TRF-2 the same replay on source and importing server gives byte-identical receipts", async () => {
    // Given a task on the server that ran it and on one that imported it, when both replay it in the same way, then the
    // receipts are the same bytes.
    await using source = await startTravel();
    await using target = await startTravel();
    const session = await source.client.createSession();
    const task = await source.complete(session.id, "bargain large artifact child ask approve");
    const { status } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201);
    const price = { "step:search:1": { kind: "tool_result", value: { price: 80 } } };
    const requests = [
      { mode: "exact" },
      { mode: "with_overrides", override: price },
      { mode: "with_overrides", override: { "ask:1": { kind: "event_payload", value: "on Friday" } } },
      { mode: "from_checkpoint", checkpoint_id: "planned" },
      {
        mode: "from_checkpoint",
        checkpoint_id: "ask:1",
        override: { "ask:1": { kind: "event_payload", value: "on Sunday" } },
      },
    ];
    const receipts = new Set<string>();
    for (const request of requests) {
      const [here, there] = await Promise.all(
        [source, target].map(({ client }) => replayed(client, task.id, request)),
      );
      assert.equal(here.status, "COMPLETED", JSON.stringify(here.failure));
      assert.equal(there.status, "COMPLETED", JSON.stringify(there.failure));
      const receipt = await canonicalReceipt(source.client, here.receipt_id);
      assert.equal(await canonicalReceipt(target.client, there.receipt_id), receipt);
      receipts.add(receipt);
    }
    assert.equal(receipts.size, requests.length, "each way of replaying has a receipt of its own");
  });

  test("TRF-2 repeating a replay on an imported session gives the same receipt", async () => {
    // Given a session that was imported with its replays, when a task is replayed there once more in the same way, then
    // it ends with the same receipt.
    await using source = await startTravel();
    await using target = await startTravel();
    const session = await source.client.createSession();
    const task = await source.complete(session.id, "bargain");
    const request = {
      mode: "with_overrides",
      override: { "step:search:1": { kind: "tool_result", value: { price: 80 } } },
    };
    const here = await replayed(source.client, task.id, request);
    const { status, body } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201, JSON.stringify(body));
    const there = await replayed(target.client, task.id, request);
    assert.equal(there.status, "COMPLETED", JSON.stringify(there.failure));
    assert.equal(
      await canonicalReceipt(target.client, there.receipt_id),
      await canonicalReceipt(source.client, here.receipt_id),
    );
    await target.server.stop();
    await assertRebuildable(target.data);
  });
});

describe("after an import", () => {
  test("TRF-4 imported tasks never run any code, even after a restart", async () => {
    // Given imported tasks, when the server goes on and is started again, then none of their code runs.
    await using source = await startTravel();
    await using target = await startTravel();
    const session = await source.client.createSession();
    for (const words of ["child artifact", "ask approve", "fail"]) await source.complete(session.id, words);
    const asking = await source.begin(session.id, "ask");
    await source.client.post(`/v1/tasks/${asking.id}/cancel`);
    assert.ok(source.notes().length > 0);
    const { status } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201);
    const there = await seenOf(target.client, session.id);

    await target.restart();
    const own = await target.client.createSession();
    await target.complete(own.id, "plain");
    assert.deepEqual(target.notes(), ["search", "choose"], "only what the new task did");
    assert.deepEqual(await seenOf(target.client, session.id), there);
  });

  test("TRF-4 the server's receipt chain continues and verifies without imported receipts", async () => {
    // Given a server with receipts of its own, when it imports a session and goes on, then its chain goes on and
    // verifies, without the imported receipts.
    await using source = await startTravel();
    await using target = await startTravel();
    await using directory = await temporaryDirectory();
    const session = await source.client.createSession();
    const imported = await source.complete(session.id, "plain");
    const own = await target.client.createSession();
    const before = await target.complete(own.id, "plain");
    const { status } = await importInto(target.client, await exportOf(source.client, session.id));
    assert.equal(status, 201);
    const next = await target.complete(own.id, "artifact");
    const follower = await target.complete(session.id, "a new task in the imported session");

    const file = join(directory.path, "bundle.jsonl");
    const keys = join(directory.path, "jwks.json");
    await writeFile(keys, succeeded(await bridle(["keys", "list"], { server: target.server })));
    const exporting = ["receipt", "export", "--workspace", "workspace_default", "--out", file];
    succeeded(await bridle(exporting, { server: target.server }));
    const verified = succeeded(await bridle(["receipt", "verify", file, "--jwks", keys]));
    assert.match(verified, /^3 receipts, Merkle root sha256:/m);
    const receipts = (await readFile(file, "utf8")).trimEnd().split("\n").slice(2);
    assert.deepEqual(
      receipts.map((line) => JSON.parse(line).receipt_id),
      [before.receipt_id, next.receipt_id, follower.receipt_id],
    );

    // The imported one is as its issuer signed it.
    const foreign = join(directory.path, "receipt.json");
    const { body: receipt } = await target.client.get(`/v1/receipts/${imported.receipt_id}`);
    await writeFile(foreign, JSON.stringify(receipt));
    await writeFile(keys, succeeded(await bridle(["keys", "list"], { server: source.server })));
    succeeded(await bridle(["receipt", "verify", foreign, "--jwks", keys]));
    await target.server.stop();
    await assertRebuildable(target.data);
  });
});

describe("what is not imported", () => {
  let source: Travel;
  let target: Travel;
  let sessionId = "";
  /** The session as it was exported. */
  let text = "";
  /** A task of it. */
  let taskId = "";
  /** A session of the importing server itself. */
  let residentId = "";

  /** A message that the importing server has already. */
  let resident: Json;
  /** Whether something was written that should have been refused: the tests that follow must not suffer for it. */
  let isTainted = false;

  async function startTarget(): Promise<void> {
    target = await startTravel();
    residentId = (await target.client.createSession()).id;
    await target.complete(residentId, "plain");
    [resident] = await target.client.listAll(`/v1/sessions/${residentId}/messages`);
    isTainted = false;
  }

  before(async () => {
    source = await startTravel();
    sessionId = (await source.client.createSession()).id;
    await source.client.post(`/v1/sessions/${sessionId}/messages`, { message: userMessage("Hello.") });
    taskId = (await source.complete(sessionId, "large artifact stream ask approve")).id;
    await source.complete(sessionId, "fail");
    text = await exportOf(source.client, sessionId);
    await startTarget();
  });
  afterEach(async () => {
    if (!isTainted) return;
    await target[Symbol.asyncDispose]();
    await startTarget();
  });
  after(async () => {
    await target.server.stop();
    try {
      await assertRebuildable(target.data);
    } finally {
      await Promise.all([source[Symbol.asyncDispose](), target[Symbol.asyncDispose]()]);
    }
  });

  /** Everything that is there. */
  async function present(): Promise<Json> {
    const { client } = target;
    return {
      // Refused credentials are recorded when their second is over.
      events: (await client.listAll("/v1/events"))
        .filter(({ event }) => event !== "vendor.bridle.audit.recorded")
        .map(({ id }) => id),
      sessions: await client.listAll("/v1/sessions"),
      tasks: await client.listAll("/v1/tasks"),
      messages: await client.listAll(`/v1/sessions/${residentId}/messages`),
    };
  }

  /** Whatever is answered, it is not that it was imported, and nothing has happened. */
  async function rejection(log: string, client = target.client): Promise<Answer> {
    const before = await present();
    isTainted = true;
    const answer = await importInto(client, log);
    assert.notEqual(answer.status, 201, "it was imported");
    assert.deepEqual(await present(), before, "nothing may be written");
    isTainted = false;
    return answer;
  }

  /** The log is refused with this code, in words that say why. */
  async function refused(
    log: string,
    says: RegExp,
    [status, code]: [number, string] = [400, "invalid_request"],
    client = target.client,
  ): Promise<void> {
    const error = errorOf(await rejection(log, client), status);
    assert.equal(error.code, code);
    assert.match(error.message, says);
  }

  const changed = (change: (log: Log) => void): string => {
    const log = new Log(text);
    change(log);
    return log.text();
  };

  const broken: { what: string; log: () => string | Promise<string>; says: RegExp }[] = [
    { what: "an empty file", log: () => "", says: /empty|[Ll]ine 1/ },
    { what: "a file of blank lines", log: () => "\n\n", says: /empty|[Ll]ine 1/ },
    { what: "a file that is not JSON", log: () => "Dear Sir or Madam,\n", says: /[Ll]ine 1\b.*JSON/ },
    { what: "JSON of another kind", log: () => '{"hello":"world"}\n', says: /[Ll]ine 1\b.*bridle-log\/1/ },
    {
      what: "a format of the future",
      log: () => text.replace("bridle-log/1", "bridle-log/2"),
      says: /[Ll]ine 1\b.*bridle-log\/1/,
    },
    {
      what: "a bundle of receipts",
      log: () => download(source.client, "/v1/workspaces/workspace_default/receipts/export"),
      says: /[Ll]ine 1\b.*bridle-log\/1/,
    },
    {
      what: "the log of one task",
      log: () => download(source.client, `/v1/tasks/${taskId}/export`),
      says: /one task/,
    },
    {
      what: "a file that ends between two lines",
      log: () => `${text.trimEnd().split("\n").slice(0, -1).join("\n")}\n`,
      says: /cut off/,
    },
    { what: "a file that ends within a line", log: () => text.slice(0, -600), says: /[Ll]ine \d+\b.*JSON/ },
    {
      what: "a file in which an event is missing",
      log: () => text.replace(/^.*"event":"task\.started".*\n/m, ""),
      says: /there should be \d+ events, there are \d+/,
    },
    { what: "a file that goes on after its end", log: () => text + text, says: /goes on after its end/ },
    {
      what: "a line that is nothing known",
      log: () => changed(({ lines }) => lines.splice(3, 0, { surprise: {} })),
      says: /[Ll]ine 4\b/,
    },
    {
      what: "an event without a payload",
      log: () => changed(({ lines }) => delete lines[3].event.payload),
      says: /[Ll]ine 4\b/,
    },
    {
      what: "an event whose payload is empty",
      log: () =>
        changed((log) => {
          log.event("session.created").payload = {};
        }),
      says: /session\.created/,
    },
    {
      what: "an event that says nonsense",
      log: () =>
        changed((log) => {
          log.event("user.message").payload = { message: "Hello." };
        }),
      says: /user\.message/,
    },
    {
      what: "content that is not what its hash says",
      log: () =>
        changed(({ lines }) => {
          lines.find(({ blob }) => blob !== undefined).blob.base64 = "TGVhdmUgYXQgdGVuLg==";
        }),
      says: /hash/,
    },
    {
      what: "content of a step that is missing",
      log: () =>
        changed((log) => {
          const { blob } = log.step("step:timetable:1").result.output;
          log.lines = log.lines.filter((line) => line.blob?.sha256 !== blob);
        }),
      says: /missing|content/,
    },
    {
      what: "content of an artifact that is missing",
      log: () =>
        changed((log) => {
          const { sha256 } = log.event("artifact.created", ({ artifact }) => artifact.sha256 !== null).payload
            .artifact;
          log.lines = log.lines.filter((line) => line.blob?.sha256 !== sha256);
        }),
      says: /missing|content/,
    },
    {
      what: "content of which no event speaks",
      log: () =>
        changed(({ lines }) => {
          const bytes = Buffer.from("unheard of");
          lines.splice(1, 0, { blob: { sha256: sha256Of(bytes), base64: bytes.toString("base64") } });
        }),
      says: /no event speaks/,
    },
    {
      what: "content that is longer than an event says",
      log: () =>
        changed((log) => {
          log.step("step:timetable:1").result.output.bytes = 5;
        }),
      says: /has \d+ bytes/,
    },
    {
      what: "a message that is longer than any may be",
      log: () =>
        changed((log) => {
          const bytes = Buffer.from(JSON.stringify([{ type: "text", text: "long ".repeat(1_000_000) }]));
          const sha256 = sha256Of(bytes);
          log.lines.splice(1, 0, { blob: { sha256, base64: bytes.toString("base64") } });
          log.event("user.message").payload.message.parts = { blob: sha256, bytes: bytes.length };
        }),
      says: /message has more than 4194304 bytes/,
    },
    {
      what: "a session that is never created",
      log: () => changed((log) => log.remove(log.event("session.created"))),
      says: /./,
    },
  ];

  for (const { what, log, says } of broken) {
    test(`TRF-3 rejects an import of ${what} with the reason and writes nothing`, async () => {
      // Given ${what}, when it is imported, then it is refused, saying why, and nothing is written.
      await refused(await log(), says);
    });
  }

  const edits: { what: string; edit: (log: Log) => void }[] = [
    {
      what: "the output of a step",
      edit: (log) => {
        log.step("step:search:1").result.output.inline.price = 1;
      },
    },
    {
      what: "the answer of a model",
      edit: (log) => {
        log.step("llm:choose:1").result.output.inline.text = "The late train.";
      },
    },
    {
      what: "the large output of a step, with its hash",
      edit: (log) => {
        const { blob } = log.step("step:timetable:1").result.output;
        log.replaceBlob(blob, Buffer.from(JSON.stringify("07:00 ".repeat(2000))));
      },
    },
    {
      what: "the bytes of an artifact, with their hash",
      edit: (log) => {
        const { artifact } = log.event(
          "artifact.created",
          (payload) => payload.artifact.sha256 !== null,
        ).payload;
        log.replaceBlob(artifact.sha256, Buffer.from("Leave at ten."));
      },
    },
    {
      what: "what the task was asked",
      edit: (log) => {
        log.event("user.message", ({ message }) =>
          message.parts.inline[0].text.includes("approve"),
        ).payload.message.parts.inline[0].text = "large artifact stream ask approve now";
      },
    },
    {
      what: "what the agent said",
      edit: (log) => {
        log.event("agent.message", ({ step }) => step === "say:1").payload.message.parts.inline[0].text =
          "It costs nothing.";
      },
    },
    {
      what: "the result that the agent gave",
      edit: (log) => {
        log.event("agent.message", ({ step }) => step === undefined).payload.message.parts.inline[0].text =
          "Stay at home.";
      },
    },
    {
      what: "what a person answered",
      edit: (log) => {
        log.event(
          "user.message",
          ({ message }) => message.parts.inline[0].text === "on Monday",
        ).payload.message.parts.inline[0].text = "on Tuesday";
      },
    },
    {
      what: "what a person decided",
      edit: (log) => {
        log.event("user.tool_confirmation").payload.approved = false;
      },
    },
    {
      what: "who decided",
      edit: (log) => {
        log.event("tool.approved").payload.response.decided_by = "somebody else";
      },
    },
    {
      what: "the output of a step, and what its receipt is said to be about",
      edit: (log) => {
        log.step("step:search:1").result.output.inline.price = 1;
        for (const { event, payload } of log.events)
          if (event === "receipt.issued")
            payload.record.subject = { object: "replay_segment", id: "segment_1" };
      },
    },
    {
      what: "the question",
      edit: (log) => {
        log.event("task.input_required").payload.request.prompt = "Which year?";
      },
    },
    {
      what: "the time of a step",
      edit: (log) => {
        log.events.find(({ payload }) => payload.step === "step:search:1").created_at =
          "2026-01-01T00:00:00.000Z";
      },
    },
    {
      what: "who did a step",
      edit: (log) => {
        log.events.find(({ payload }) => payload.step === "step:search:1").actor = "agent:other";
      },
    },
    {
      what: "the version of the agent",
      edit: (log) => {
        log.event("task.started").payload.agent.version = "9.9.9";
      },
    },
    {
      what: "how the task ended",
      edit: (log) => {
        log.event("task.completed").payload.outcome.summary = "Stay at home.";
      },
    },
    {
      what: "why the task failed",
      edit: (log) => {
        log.event("task.failed").payload.outcome.summary = "Bad luck.";
        log.event("task.failed").payload.failure = { code: "bad_luck", message: "Bad luck." };
      },
    },
    {
      what: "a step that was taken out",
      edit: (log) => log.remove(log.events.find(({ payload }) => payload.step === "llm:choose:1")),
    },
    {
      what: "a step that was put in",
      edit: (log) => {
        const step = log.events.find(({ payload }) => payload.step === "step:search:1");
        const payload = { ...step.payload, step: "step:search:2" };
        log.insertAfter(step, { ...step, payload });
      },
    },
    {
      what: "two steps that changed places",
      edit: (log) => {
        const [a, b] = ["step:search:1", "llm:choose:1"].map((key) =>
          log.lines.findIndex(({ event }) => event?.payload.step === key),
        );
        assert.ok(a !== undefined && b !== undefined);
        [log.lines[a], log.lines[b]] = [log.lines[b], log.lines[a]];
      },
    },
  ];

  for (const { what, edit } of edits) {
    test(`TRF-3 rejects a changed log (${what}), naming the task, and writes nothing`, async () => {
      // Given a log that was changed, ${what}, when it is imported, then it is refused, naming the task, and nothing is
      // written.
      const log = changed(edit);
      assert.notEqual(log, text);
      await refused(log, /task_\w+.*receipt|receipt.*task_\w+/);
    });
  }

  test("TRF-3 rejects a log changed together with its receipt, whose hash no longer matches", async () => {
    // Given a log and its receipt that were changed together, when it is imported, then it is refused, since the receipt
    // no longer has its hash.
    const log = new Log(text);
    const issued = log.event("receipt.issued");
    const { receipt } = issued.payload;
    const sealed = "inline" in receipt ? receipt.inline : unsealed(log, receipt.blob);
    sealed.cost.total = 1_000_000;
    if ("inline" in receipt) receipt.inline = sealed;
    else log.replaceBlob(receipt.blob, Buffer.from(JSON.stringify(sealed)));
    await refused(log.text(), /receipt/);
  });

  test("TRF-3 rejects a log whose task names a receipt that was removed", async () => {
    // Given a log from which a receipt was taken out, when it is imported, then it is refused, since the task names one.
    await refused(
      changed((log) => log.remove(log.event("receipt.issued"))),
      /receipt/,
    );
  });

  function unsealed(log: Log, sha256: string): Json {
    return JSON.parse(Buffer.from(log.blob(sha256).base64, "base64").toString("utf8"));
  }

  /** An event such as another resource's log would have. */
  function foreign(log: Log, event: string, object: string, payload: Json): void {
    const created = log.event("session.created");
    const { id } = Object.values<Json>(payload)[0];
    log.insertAfter(created, { ...created, event, resource: { object, id }, payload });
  }

  const smuggled: { what: string; change: (log: Log) => void; says: RegExp }[] = [
    {
      what: "an API key",
      change: (log) =>
        foreign(log, "vendor.bridle.api_key.created", "api_key", {
          api_key: {
            id: "key_smuggled",
            object: "api_key",
            tenant_id: "tenant_default",
            actor: "thief",
            scopes: ["admin"],
          },
        }),
      says: /vendor\.bridle\.api_key\.created/,
    },
    {
      what: "a persona",
      change: (log) =>
        foreign(log, "vendor.bridle.persona.created", "persona", {
          persona: { id: "persona_smuggled", object: "persona", tenant_id: "tenant_default" },
        }),
      says: /vendor\.bridle\.persona\.created/,
    },
    {
      what: "a signing key",
      change: (log) =>
        foreign(log, "vendor.bridle.signing_key.created", "signing_key", {
          signing_key: { id: "key_smuggled", object: "signing_key", tenant_id: "tenant_default" },
        }),
      says: /vendor\.bridle\.signing_key\.created/,
    },
    {
      what: "an event of another session",
      change: (log) => {
        const hello = log.event("user.message");
        log.insertAfter(hello, { ...hello, session_id: residentId });
      },
      says: /another session/,
    },
    {
      what: "an event of another workspace",
      change: (log) => {
        log.event("user.message").workspace_id = "workspace_other";
      },
      says: /./,
    },
    {
      what: "a message for another session inside an event of this one",
      change: (log) => {
        log.event("user.message").payload.message.session_id = residentId;
      },
      says: /./,
    },
    {
      what: "a document of another tenant inside an event of this one",
      change: (log) => {
        log.event("user.message").payload.message.tenant_id = "tenant_other";
      },
      says: /./,
    },
    {
      what: "a second session",
      change: (log) => {
        const created = log.event("session.created");
        const payload = { session: { ...created.payload.session, id: "session_smuggled" } };
        log.insertAfter(created, { ...created, payload });
      },
      says: /./,
    },
    {
      what: "a task that has not ended, in the name of one that has",
      change: (log) => {
        const submitted = log.event("task.submitted");
        const task = { ...submitted.payload.task, id: "task_smuggled" };
        log.insertAfter(log.events.at(-1), { ...submitted, payload: { ...submitted.payload, task } });
      },
      says: /./,
    },
    {
      what: "a task that is said to have ended and then goes on",
      change: (log) => {
        const completed = log.event("task.completed");
        const back = { from: "COMPLETED", to: "WORKING", reason: null };
        log.insertAfter(log.events.at(-1), { ...completed, event: "task.status_changed", payload: back });
      },
      says: /./,
    },
    {
      what: "a message under an id that is taken",
      change: (log) => {
        const hello = log.event("user.message");
        hello.resource.id = resident.id;
        hello.payload.message.id = resident.id;
      },
      says: /./,
    },
    {
      what: "a receipt that claims a place in the chain",
      change: (log) => {
        for (const event of log.events) {
          if (event.event !== "receipt.issued") continue;
          event.event = "vendor.bridle.receipt.imported";
          event.payload.record.index = 0;
        }
      },
      says: /./,
    },
  ];
  for (const { what, change, says } of smuggled) {
    test(`TRF-3 rejects a log with ${what} smuggled in and writes nothing`, async () => {
      // Given a log into which was smuggled ${what}, when it is imported, then it is refused and nothing is written.
      const answer = await rejection(changed(change));
      assert.ok([400, 409].includes(answer.status), `${answer.status} ${JSON.stringify(answer.body)}`);
      assert.match(errorOf(answer, answer.status).message, says);
    });
  }

  test("TRF-3 rejects a receipt claiming first place in a new workspace's chain", async () => {
    // Given a log with a receipt that claims the first place in the chain of a workspace, when it is imported where the
    // workspace is new, then it is refused, and the workspace is not there.
    const { body: workspace } = await source.client.post("/v1/workspaces", { name: "Claimed", root: "/c" });
    const session = await source.client.createSession({ workspace_id: workspace.id });
    await source.complete(session.id, "plain");
    const log = new Log(await exportOf(source.client, session.id));
    const issued = log.event("receipt.issued");
    issued.event = "vendor.bridle.receipt.imported";
    assert.equal(issued.payload.record.index, 0);
    await refused(log.text(), /receipt/);
    errorOf(await target.client.get(`/v1/workspaces/${workspace.id}`), 404);
  });

  test("TRF-3 rejects an API key in place of a message, and the key opens nothing", async () => {
    // Given a log with an API key in the place of a message, when it is imported, then it is refused, and the key opens
    // nothing.
    const session = await source.client.createSession();
    await source.client.append(session.id, "hello");
    const log = new Log(await exportOf(source.client, session.id));
    const said = log.event("user.message");
    const id = "key_01J0000000000000000000000X";
    const key = `bridle_${id}_${"A".repeat(43)}`;
    said.resource = { object: "api_key", id };
    said.payload.message = {
      ...said.payload.message,
      ...{ id, object: "api_key", name: "x", actor: "x", scopes: ["admin"], workspace_ids: null },
      ...{ expires_at: null, revoked_at: null, hash: createHash("sha256").update(key).digest("hex") },
    };
    await refused(log.text(), /not of its kind/);
    errorOf(await target.client.as(key).get("/v1/sessions"), 401);
  });

  test("TRF-3 rejects a session with an unfinished task, naming it, and writes nothing", async () => {
    // Given a session with a task that has not ended, when it is imported, then it is refused, naming the task, and
    // nothing is written.
    const session = await source.client.createSession();
    const waiting = await source.begin(session.id, "ask");
    await refused(await exportOf(source.client, session.id), new RegExp(`${waiting.id} has not ended`));
  });

  test("TRF-3 rejects a session of another tenant, naming the tenant, and writes nothing", async () => {
    // Given a session of another tenant, when it is imported, then it is refused, naming the tenant, and nothing is
    // written.
    const key = await target.client.createKey({ tenant_id: "tenant_other" });
    const stranger = target.client.as(key.key);
    const before = await stranger.listAll("/v1/events");
    await refused(text, /tenant_default/, undefined, stranger);
    assert.deepEqual(await stranger.listAll("/v1/events"), before);
  });

  test("TRF-3 rejects a log whose events and documents name different tenants", async () => {
    // Given a log whose events say one tenant and whose documents say another, when it is imported, then it is refused
    // and neither tenant has anything of it.
    const key = await target.client.createKey({ tenant_id: "tenant_third" });
    const stranger = target.client.as(key.key);
    const session = await source.client.createSession();
    const log = new Log(await exportOf(source.client, session.id));
    log.header.tenant_id = "tenant_third";
    log.header.workspace.id = "workspace_third";
    for (const event of log.events) {
      event.tenant_id = "tenant_third";
      event.workspace_id = "workspace_third";
    }
    const before = await stranger.listAll("/v1/events");
    await refused(log.text(), /./, undefined, stranger);
    assert.deepEqual(await stranger.listAll("/v1/events"), before);
    for (const client of [target.client, stranger])
      errorOf(await client.get(`/v1/sessions/${session.id}`), 404);
  });

  test("TRF-3 denies an import to a key without administration and writes nothing", async () => {
    // Given a key that may do everything but administer, when it imports a log, then it is denied and nothing is
    // written.
    const client = await target.client.withScopes(
      "sessions:write",
      "tasks:write",
      "messages:write",
      "artifacts:write",
      "events:read",
      "events:read_internal",
    );
    await refused(text, /admin/, [403, "permission_denied"], client);
  });

  test("TRF-3 denies an export to a key that may not read internal content", async () => {
    // Given a key that may not read what is internal, when it exports a session or a task, then it is denied.
    const paths = [`/v1/sessions/${sessionId}/export`, `/v1/tasks/${taskId}/export`];
    const kinds = [
      "workspaces",
      "sessions",
      "branches",
      "tasks",
      "messages",
      "artifacts",
      "receipts",
      "events",
    ];
    const scopes = kinds.map((kind) => `${kind}:read`);
    const without = await source.client.withScopes(...scopes);
    const withIt = await source.client.withScopes(...scopes, "events:read_internal");
    for (const path of paths) {
      const error = errorOf(await without.get(path), 403);
      assert.match(error.message, /events:read_internal/);
      assert.ok((await download(withIt, path)).includes(sessionId));
    }
  });

  test("TRF-3 importing an existing session again is a conflict and writes nothing", async () => {
    // Given a session that is there already, when it is imported again, then it is a conflict and nothing is written.
    const session = await source.client.createSession();
    await source.complete(session.id, "plain");
    const log = await exportOf(source.client, session.id);
    assert.equal((await importInto(target.client, log)).status, 201);
    await refused(log, new RegExp(`${session.id} is here already`), [409, "conflict"]);
  });

  test("TRF-3 of two concurrent imports of one session exactly one succeeds", async () => {
    // Given two imports of one session at once, when both are done, then exactly one has succeeded.
    const session = await source.client.createSession();
    await source.complete(session.id, "plain");
    const log = await exportOf(source.client, session.id);
    const answers = await Promise.all([importInto(target.client, log), importInto(target.client, log)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
  });

  test("TRF-3 bridle import of an invalid file prints one line with the reason and exits 1", async () => {
    // Given a file that cannot be imported, when bridle import is called, then one line says why and the exit code is 1.
    await using directory = await temporaryDirectory();
    const file = join(directory.path, "session.jsonl");
    const contents = [
      { log: "", says: /[Ll]ine 1\b|empty/ },
      { log: text.slice(0, -600), says: /[Ll]ine \d+\b/ },
      {
        log: changed((log) => {
          log.step("step:search:1").result.output.inline.price = 1;
        }),
        says: /receipt/,
      },
    ];
    for (const { log, says } of contents) {
      await writeFile(file, log);
      assert.match(errorLine(await bridle(["import", file], { server: target.server }), 1), says);
    }
    const missing = join(directory.path, "missing.jsonl");
    const ended = await bridle(["import", missing], { server: target.server });
    assert.match(errorLine(ended, 1), /missing\.jsonl/);
  });

  test("TRF-3 accepts the unchanged log, so the rejections above are due to their changes", async () => {
    // Given a log that nobody has changed, when it is imported, then it is accepted: what was refused above was refused
    // for its change.
    const { status, body } = await importInto(
      target.client,
      changed(() => {}),
    );
    assert.equal(status, 201, JSON.stringify(body));
    assert.deepEqual(await seenOf(target.client, sessionId), await seenOf(source.client, sessionId));
  });
});
