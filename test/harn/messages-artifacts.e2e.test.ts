/** What is said and what is left behind: messages with their parts, artifacts with their bytes, and who may see them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, isFinal, type Json, userMessage } from "../support/client.ts";
import { config } from "../support/more-agents-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openStream, take } from "../support/sse.ts";

let server: TestServer;
let client: Client;
/** May read everything but what is internal. */
let outsider: Client;
/** The same, and what is internal. */
let insider: Client;

const readScopes = ["sessions", "tasks", "messages", "events", "artifacts", "outcomes"].map(
  (resource) => `${resource}:read`,
);

before(async () => {
  server = await startServer({
    config,
  });
  client = new Client(server);
  outsider = await client.withScopes(...readScopes);
  insider = await client.withScopes(...readScopes, "events:read_internal");
});
after(() => server[Symbol.asyncDispose]());

const sha256 = (data: string) => createHash("sha256").update(data).digest("hex");
const secret = "for-insiders-only";

async function append(id: string, message: object): Promise<Json> {
  const { status, body } = await client.post(`/v1/sessions/${id}/messages`, { message });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function run(agent: string, input: object): Promise<Json> {
  const { id } = await client.createSession({ persona_id: `persona_${agent}` });
  const body = { session_id: id, input };
  return (await client.post("/v1/tasks", body, { prefer: "wait=30" })).body;
}

const everyPart = (visibility: string) => [
  { type: "text", text: "look", visibility },
  { type: "json", value: { a: [1, null, { b: "c" }] }, visibility },
  { type: "json", value: null, visibility },
  { type: "tool_call", tool_call_id: "call_1", name: "search", input: { q: "x" }, visibility },
  { type: "tool_result", tool_call_id: "call_1", output: ["found"], status: "ok", visibility },
  { type: "artifact_ref", artifact_id: "artifact_1", visibility },
  { type: "file_ref", uri: "file:///a.txt", mime_type: "text/plain", visibility },
  { type: "image_ref", artifact_id: "artifact_2", mime_type: "image/png", visibility },
];

describe("Messages", () => {
  for (const role of ["user", "assistant", "system", "tool", "agent"]) {
    test(`MSG-1 a message of role ${role} with every part type is returned as sent`, async () => {
      // Given a message of the role ${role} with every type of part, when it is read, then role and parts are as sent.
      const { id } = await client.createSession();
      const parts = everyPart("public");
      const message = await append(id, { role, parts, metadata: { a: 1 } });
      assert.equal(message.object, "message");
      assert.equal(message.session_id, id);
      assert.equal(message.task_id, null);
      assert.equal(message.role, role);
      assert.deepEqual(message.parts, parts);
      assert.deepEqual(message.metadata, { a: 1 });
      assert.deepEqual((await client.get(`/v1/messages/${message.id}`)).body, message);
      assert.deepEqual(await client.listAll(`/v1/sessions/${id}/messages`), [message]);
    });
  }

  test("MSG-1 the parts of a message keep the order in which they were sent", async () => {
    // Given many parts, when the message is read, then they are in the order in which they were sent.
    const { id } = await client.createSession();
    const parts = Array.from({ length: 300 }, (_, n) => ({
      type: "text",
      text: `${n}`,
      visibility: "public",
    }));
    assert.deepEqual((await append(id, { role: "user", parts })).parts, parts);
    assert.deepEqual(
      await client.texts(id),
      parts.map(({ text }) => text),
    );
  });

  test("MSG-1 given the messages of a task, when they are read, then they name the task", async () => {
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say hello");
    const messages = await client.listAll(`/v1/sessions/${id}/messages`);
    assert.deepEqual(
      messages.map(({ role, task_id }) => [role, task_id]),
      [
        ["user", task.id],
        ["agent", task.id],
      ],
    );
    assert.deepEqual(task.input, messages[0]);
  });

  const awkward = {
    "100 KB of text": "0123456789abcdef".repeat(6400),
    "100 KB of text outside ASCII": "žluťoučký 🐎 ".repeat(6000),
    "control characters and quotes": '\u0000\u0001\b\f\n\r\t"\\\u2028\u2029\u007f',
    "an empty text": "",
    "text that looks like a stored reference": '{"blob":"abc","bytes":1}',
  };
  for (const [what, text] of Object.entries(awkward)) {
    test(`MSG-1 a message and its event return ${what} exactly`, async () => {
      // Given ${what}, when it is appended, then the message and its event give it back exactly.
      const { id } = await client.createSession();
      const message = await append(id, userMessage(text));
      assert.equal(message.parts[0].text, text);
      assert.equal((await client.get(`/v1/messages/${message.id}`)).body.parts[0].text, text);
      const events = await client.listAll(`/v1/sessions/${id}/events`);
      const said = events.find(({ event }) => event === "user.message");
      assert.deepEqual(said.payload.message, message);
    });
  }

  test("MSG-1 echoed 100 KB of input come back exactly in task, transcript and outcome", async () => {
    // Given 100 KB of input, when an agent echoes it, then task, transcript and outcome give it back exactly.
    const text = "0123456789abcdef".repeat(6400);
    const { id } = await client.createSession();
    const submitted = await client.submit(id, text);
    assert.equal(submitted.input.parts[0].text, text);
    const task = await client.untilTask(submitted.id, isFinal);
    assert.equal(task.input.parts[0].text, text);
    assert.deepEqual(await client.texts(id), [text, text]);
    const { body: outcome } = await client.get(`/v1/outcomes/${task.outcome_id}`);
    assert.equal(outcome.messages[0].parts[0].text, text);
    assert.ok(outcome.summary.length < 1000);
  });

  test("MSG-1 echoed 100 KB of structured input come back as the same object", async () => {
    // Given 100 KB of structured input, when an agent echoes it, then the result is the same object.
    const input = { rows: Array.from({ length: 2000 }, (_, n) => ({ n, text: "x".repeat(40) })) };
    const { id } = await client.createSession();
    const task = await client.untilTask((await client.submit(id, "", { input })).id, isFinal);
    assert.deepEqual(task.input, input);
    const [message] = await client.listAll(`/v1/sessions/${id}/messages`);
    assert.deepEqual(message.parts[0].value, input);
  });
});

describe("Content that is not public", () => {
  function assertDescriptor(part: Json, type: string): void {
    assert.equal(part.redacted, true);
    assert.equal(part.type, type);
    assert.match(part.sha256, /^[0-9a-f]{64}$/);
    assert.deepEqual(Object.keys(part).sort(), ["redacted", "sha256", "type", "visibility"]);
  }

  for (const visibility of ["internal", "receipt_only"]) {
    test(`MSG-2 an outsider sees ${visibility} parts of every type as descriptors with type and hash`, async () => {
      // Given ${visibility} parts of every type, when an outsider reads the message, then each is a descriptor with type
      // and hash.
      const { id } = await client.createSession();
      const parts = everyPart(visibility);
      const message = await append(id, { role: "tool", parts });
      for (const path of [`/v1/messages/${message.id}`, `/v1/sessions/${id}/messages`]) {
        const { body } = await outsider.get(path);
        const shown = (body.data?.[0] ?? body).parts;
        assert.equal(shown.length, parts.length);
        for (const [n, part] of shown.entries()) assertDescriptor(part, parts[n]?.type ?? "");
      }
    });

    test(`MSG-2 given ${visibility} parts, when an insider reads the message, then they are as sent`, async () => {
      const { id } = await client.createSession();
      const parts = everyPart(visibility);
      const message = await append(id, { role: "tool", parts });
      assert.deepEqual((await insider.get(`/v1/messages/${message.id}`)).body.parts, parts);
    });
  }

  test("MSG-2 public parts beside internal ones stay unchanged and in place for an outsider", async () => {
    // Given public and internal parts, when an outsider reads the message, then the public ones stay as they are, in
    // their place.
    const { id } = await client.createSession();
    const [hidden, open] = [userMessage(secret, "internal"), userMessage("open")] as Json[];
    const parts = [...hidden.parts, ...open.parts, ...hidden.parts];
    const message = await append(id, { role: "user", parts });
    const shown = (await outsider.get(`/v1/messages/${message.id}`)).body.parts;
    assertDescriptor(shown[0], "text");
    assert.deepEqual(shown[1], open.parts[0]);
    assertDescriptor(shown[2], "text");
  });

  test("MSG-2 equal internal parts of one message have equal hashes, other parts have others", async () => {
    const { id } = await client.createSession();
    const parts = ["one", "one", "two"].map((text) => ({ type: "text", text, visibility: "internal" }));
    const message = await append(id, { role: "user", parts });
    const { body } = await outsider.get(`/v1/messages/${message.id}`);
    const [first, second, third] = body.parts.map(({ sha256 }: Json) => sha256);
    assert.equal(first, second);
    assert.notEqual(first, third);
  });

  test("MSG-2 an internal part of a task's input is a descriptor to outsiders, whole to insiders", async () => {
    // Given a task with an internal part, when it is read, then outsiders get a descriptor in its input and insiders the
    // part.
    const { id } = await client.createSession();
    const hidden = { type: "json", value: { note: secret }, visibility: "internal" };
    const script = { type: "text", text: "say hello", visibility: "public" };
    const { body: submitted } = await client.post("/v1/tasks", {
      session_id: id,
      persona_id: "persona_rehearsal",
      input: { role: "user", parts: [script, hidden] },
    });
    await client.untilTask(submitted.id, isFinal);
    const pathsToIt = [`/v1/tasks/${submitted.id}`, `/v1/tasks?session_id=${id}`, `/v1/sessions/${id}/tasks`];
    for (const path of pathsToIt) {
      const [outside, inside] = [(await outsider.get(path)).body, (await insider.get(path)).body];
      const shown = (outside.data?.[0] ?? outside).input.parts;
      assert.deepEqual(shown[0], script, path);
      assertDescriptor(shown[1], "json");
      assert.deepEqual((inside.data?.[0] ?? inside).input.parts, [script, hidden], path);
    }
  });

  /** What the session's whole log looks like, as lists and as streams. */
  async function logOf(viewer: Client, task: Json): Promise<string> {
    const listed = [
      ...(await viewer.listAll(`/v1/sessions/${task.session_id}/events`)),
      ...(await viewer.listAll(`/v1/tasks/${task.id}/events`)),
    ];
    const single = await Promise.all(
      listed.map(async ({ id }) => (await viewer.get(`/v1/events/${id}`)).body),
    );
    await using stream = await openStream(viewer, `/v1/tasks/${task.id}/stream`);
    const streamed = await take(stream.frames, () => false);
    assert.ok(listed.length > 5 && streamed.length > 3);
    return JSON.stringify([listed, single, streamed]);
  }

  test("MSG-2 event lists, single events and streams hide internal parts from outsiders only", async () => {
    // Given a message with internal parts, when its events are read as lists, one by one and as a stream, then outsiders
    // do not see the content and insiders do.
    const { id } = await client.createSession();
    const parts = [
      { type: "text", text: "say hello", visibility: "public" },
      { type: "json", value: secret, visibility: "internal" },
    ];
    const { body } = await client.post("/v1/tasks", {
      session_id: id,
      persona_id: "persona_rehearsal",
      input: { role: "user", parts },
    });
    const task = await client.untilTask(body.id, isFinal);
    const outside = await logOf(outsider, task);
    assert.ok(!outside.includes(secret));
    assert.ok(outside.includes('"redacted":true'));
    assert.ok((await logOf(insider, task)).includes(secret));
  });

  test("MSG-2 transcript and outcome hide an agent's internal content from an outsider", async () => {
    // Given an agent that keeps everything internal, when an outsider reads the transcript and the outcome, then the
    // content is not there.
    const task = await run("secretive", { content: secret });
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    const paths = [
      `/v1/sessions/${task.session_id}/messages`,
      `/v1/outcomes/${task.outcome_id}`,
      `/v1/artifacts?task_id=${task.id}`,
    ];
    for (const path of paths) {
      const { status, body } = await outsider.get(path);
      assert.equal(status, 200, path);
      assert.ok(!JSON.stringify(body).includes(secret), path);
    }
    const { body } = await insider.get(`/v1/sessions/${task.session_id}/messages`);
    assert.ok(JSON.stringify(body).includes(secret));
  });

  for (const [what, event] of Object.entries({
    messages: "agent.message",
    "step results": "span.completed",
    "chunks of internal artifacts": "artifact.updated",
  })) {
    test(`MSG-2 events of an agent's ${what} hide internal content from an outsider`, async () => {
      // Given an agent that keeps everything internal, when an outsider reads the events of its ${what}, then the
      // content is not there.
      const task = await run("secretive", { content: secret });
      const eventsFor = async (viewer: Client) =>
        JSON.stringify(
          (await viewer.listAll(`/v1/sessions/${task.session_id}/events`)).filter(
            (item) => item.event === event,
          ),
        );
      assert.ok((await eventsFor(insider)).includes(secret));
      assert.ok(!(await eventsFor(outsider)).includes(secret));
    });
  }

  test("MSG-2 an internal tool confirmation shows an outsider only the decision", async () => {
    // Given a tool confirmation in an internal part, when an outsider reads the permission request and the events, then
    // only the decision shows.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "approve ship");
    const value = { approved: true, reason: secret, note: secret };
    const parts = [{ type: "json", value, visibility: "internal" }];
    const { status } = await client.post(`/v1/tasks/${task.id}/messages`, {
      kind: "tool_confirmation",
      message: { role: "user", parts },
    });
    assert.equal(status, 201);
    await client.untilTask(task.id, isFinal);
    const [request] = await outsider.listAll(`/v1/tasks/${task.id}/permission-requests`);
    assert.equal(request.status, "approved");
    assert.ok(!JSON.stringify(request).includes(secret), "in the permission request");
    const events = await outsider.listAll(`/v1/tasks/${task.id}/events`);
    assert.ok(!JSON.stringify(events).includes(secret), "in the events");
  });
});

describe("Artifacts", () => {
  const elsewhere = {
    kind: "dataset",
    mime_type: "text/csv",
    uri: "https://example.org/data.csv",
    visibility: "public",
    sha256: sha256("somewhere else"),
    metadata: { rows: 3 },
  };

  test("ART-1 a registered external artifact is read and listed as it was described", async () => {
    // Given something that lives elsewhere, when it is registered, then it can be read and listed as it was described.
    const { id } = await client.createSession();
    const { status, body } = await client.post("/v1/artifacts", { ...elsewhere, session_id: id });
    assert.equal(status, 201);
    assert.equal(body.object, "artifact");
    for (const [field, value] of Object.entries(elsewhere)) assert.deepEqual(body[field], value, field);
    assert.equal(body.session_id, id);
    assert.equal(body.workspace_id, "workspace_default");
    assert.deepEqual((await client.get(`/v1/artifacts/${body.id}`)).body, body);
    assert.deepEqual(await client.listAll(`/v1/artifacts?session_id=${id}`), [body]);
  });

  test("ART-1 an artifact registered for a task belongs to the task's session and workspace", async () => {
    // Given a task, when an artifact is registered for it, then it belongs to the task's session and workspace.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say hello");
    const { body } = await client.post("/v1/artifacts", { ...elsewhere, task_id: task.id });
    assert.deepEqual([body.task_id, body.session_id, body.workspace_id], [task.id, id, task.workspace_id]);
  });

  test("ART-1 an artifact registered for a session and another session's task is rejected", async () => {
    // Given a task of another session, when an artifact is registered for both, then it is refused.
    const [one, other] = [await client.createSession(), await client.createSession()];
    const task = await client.rehearse(one.id, "say hello");
    const answer = await client.post("/v1/artifacts", {
      ...elsewhere,
      task_id: task.id,
      session_id: other.id,
    });
    assert.equal(errorOf(answer, 400).param, "session_id");
  });

  test("ART-1 the content of an external artifact is not found, and the answer says where it is", async () => {
    // Given an artifact that lives elsewhere, when its content is asked for, then it is not found and the answer says
    // where it is.
    const { body } = await client.post("/v1/artifacts", elsewhere);
    const error = errorOf(await client.get(`/v1/artifacts/${body.id}/content`), 404);
    assert.equal(error.code, "resource_not_found");
    assert.equal(error.details.uri, elsewhere.uri);
  });

  test("ART-1 an artifact still being written has no hash, and its content is a conflict", async () => {
    // Given an artifact that is still being written, when it is read, then it has no hash, and its content is a conflict
    // until it is closed.
    const task = await run("drafter", {});
    assert.equal(task.status, "INPUT_REQUIRED");
    const [draft] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    assert.deepEqual([draft.sha256, draft.bytes], [null, null]);
    const path = `/v1/artifacts/${draft.id}/content`;
    assert.equal(errorOf(await client.get(path), 409).code, "conflict");
    await client.answer(task.id, "half");
    await client.untilTask(task.id, isFinal);
    const { body: closed } = await client.get(`/v1/artifacts/${draft.id}`);
    assert.deepEqual([closed.sha256, closed.bytes], [sha256("half and half"), 13]);
    assert.equal((await client.get(path)).body, "half and half");
  });

  const scripts: Record<string, [line: string, name: string, content: string]> = {
    "written at once": ["artifact notes.txt Hello, žluťoučký kůň!", "notes.txt", "Hello, žluťoučký kůň!"],
    "streamed in 5 chunks": [
      "stream 5",
      "stream-5.txt",
      [1, 2, 3, 4, 5].map((n) => `chunk ${n} of 5\n`).join(""),
    ],
    "streamed in 0 chunks": ["stream 0", "stream-0.txt", ""],
    "of 100 KB": [`artifact big.txt ${"0123456789".repeat(10_240)}`, "big.txt", "0123456789".repeat(10_240)],
  };
  for (const [what, [line, name, content]] of Object.entries(scripts)) {
    test(`ART-2 the download of an artifact ${what} has the stated hash and length`, async () => {
      // Given an artifact ${what}, when it is downloaded, then its bytes have the stated hash and length.
      const { id } = await client.createSession();
      const task = await client.rehearse(id, line);
      assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
      const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
      assert.equal(artifact.name, name);
      assert.equal(artifact.mime_type, "text/plain");
      assert.equal(artifact.visibility, "public");
      assert.equal(artifact.sha256, sha256(content));
      assert.equal(artifact.bytes, Buffer.byteLength(content));
      const download = await client.get(artifact.uri);
      assert.equal(download.status, 200);
      assert.equal(download.body, content);
      assert.match(download.headers.get("content-type") ?? "", /^text\/plain/);
      assert.equal(download.headers.get("etag"), `"${artifact.sha256}"`);
      assert.equal(download.headers.get("x-content-type-options"), "nosniff");
    });
  }

  test("ART-2 the chunks in a streamed artifact's events add up to its content", async () => {
    // Given a streamed artifact, when the chunks of its events are put together, then they are the content.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "stream 20");
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const updates = (await client.listAll(`/v1/tasks/${task.id}/events`)).filter(
      ({ event }) => event === "artifact.updated",
    );
    assert.equal(sha256(updates.map(({ payload }) => payload.chunk).join("")), artifact.sha256);
    assert.equal(updates.at(-1).payload.completed.sha256, artifact.sha256);
  });

  test("ART-2 given artifacts of a task, when its outcome is read, then it lists them", async () => {
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "artifact a.txt one", "artifact b.txt two");
    const { body } = await client.get(`/v1/outcomes/${task.outcome_id}`);
    assert.deepEqual(
      body.artifacts.map(({ name }: Json) => name),
      ["a.txt", "b.txt"],
    );
  });

  test("ART-2 downloads of internal artifacts are denied to outsiders and served to insiders", async () => {
    // Given internal artifacts, when they are downloaded, then outsiders are refused and insiders get the bytes.
    const task = await run("secretive", { content: secret });
    const artifacts = await outsider.listAll(`/v1/artifacts?task_id=${task.id}`);
    assert.equal(artifacts.length, 2);
    for (const { id, visibility, sha256: stated } of artifacts) {
      assert.equal(visibility, "internal");
      assert.equal(errorOf(await outsider.get(`/v1/artifacts/${id}/content`), 403).code, "permission_denied");
      const { status, body } = await insider.get(`/v1/artifacts/${id}/content`);
      assert.equal(status, 200);
      assert.equal(sha256(JSON.stringify(secret)), stated);
      assert.ok(JSON.stringify(body).includes(secret));
    }
  });
});

describe("Pages of large messages", () => {
  test("RES-4 large content makes list pages shorter, and nothing is missing", async () => {
    // Given more content than one answer should hold, when lists are walked, then pages are shorter and nothing is
    // missing.
    const { id } = await client.createSession();
    const text = "x".repeat(3_000_000);
    for (let n = 0; n < 7; n++) {
      const { status } = await client.post(`/v1/sessions/${id}/messages`, { message: userMessage(text) });
      assert.equal(status, 201);
    }
    const first = await client.get(`/v1/sessions/${id}/messages`);
    assert.ok(
      first.body.data.length >= 1 && first.body.data.length < 7,
      `${first.body.data.length} in one page`,
    );
    assert.equal(first.body.page.has_more, true);
    assert.equal((await client.listAll(`/v1/sessions/${id}/messages`)).length, 7);
    const events = await client.listAll(`/v1/sessions/${id}/events`);
    assert.equal(events.filter(({ event }) => event === "user.message").length, 7);
  });
});
