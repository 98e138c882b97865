/** SEC-M6: `events:read` shows events about resources that the key may read, and no others, wherever events are shown. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readScope } from "../../src/kernel/access/read-scopes.ts";
import { ApprovalStage, type Person } from "../support/approvals.ts";
import { type Client, errorOf, type Json, userMessage } from "../support/client.ts";
import { openSession, openSocket } from "../support/socket.ts";
import { openStream } from "../support/sse.ts";

let stage: ApprovalStage;
let admin: Client;
let ann: Person;
before(async () => {
  stage = await ApprovalStage.open();
  admin = stage.client;
  ann = await stage.approver("ann");
});
after(() => stage[Symbol.asyncDispose]());

function scopeOf({ resource }: Json): string {
  return readScope[resource.object as keyof typeof readScope];
}

/** One of nearly everything that has events. */
async function makeHistory(): Promise<void> {
  const session = await admin.createSession({ initial_messages: [userMessage("merger talks")] });
  await admin.rehearse(session.id, "say hello", "artifact report.txt 1");
  await admin.createMemory({ key: "m", content: { secret: "word" }, visibility: "public" });
  await admin.createConnector();
  const vault = await admin.post("/v1/vaults", { provider: "local", capabilities: ["read"] });
  assert.equal(vault.status, 201, JSON.stringify(vault.body));
}

test("SEC-M6 a key reads the events of what its other scopes read, and no others", async () => {
  await makeHistory();
  await admin.createKey();
  const all = await admin.listAll("/v1/events");
  const scopes = new Set(all.map(scopeOf));
  for (const scope of ["api_keys:read", "messages:read", "memories:read", "tasks:read", "vaults:read"]) {
    assert.ok(scopes.has(scope), `there are events for ${scope}`);
  }
  assert.deepEqual(await (await admin.withScopes("events:read")).listAll("/v1/events"), []);
  for (const scope of scopes) {
    if (scope === "admin") continue;
    const seen = await (await admin.withScopes("events:read", scope)).listAll("/v1/events", 7);
    const expected = all.filter((event) => scopeOf(event) === scope).map(({ id }) => id);
    // The keys that this test makes meanwhile are events of their own.
    assert.deepEqual(
      seen.slice(0, expected.length).map(({ id }) => id),
      expected,
      scope,
    );
    assert.ok(seen.every((event) => scopeOf(event) === scope));
  }
});

test("SEC-M6 one event of a hidden resource is denied, and the denial names the scope", async () => {
  const { id } = await admin.createSession({ initial_messages: [userMessage("x")] });
  const said = (await admin.listAll(`/v1/sessions/${id}/events`)).find(
    ({ event }) => event === "user.message",
  );
  const reader = await admin.withScopes("events:read", "sessions:read");
  const error = errorOf(await reader.get(`/v1/events/${said?.id}`), 403);
  assert.equal(error.details.required_scope, "messages:read");
});

test("SEC-M6 a reader gets past thousands of events that it may not read, in bounded pages", async () => {
  const reader = await admin.withScopes("events:read", "workspaces:read");
  const seenBefore = (await reader.listAll("/v1/events")).length;
  const after = (await admin.listAll("/v1/events")).at(-1)?.id;
  const many = Array.from({ length: 1000 }, (_, n) => userMessage(`hidden ${n}`));
  for (let n = 0; n < 2; n++) await admin.createSession({ initial_messages: many });
  const made = await admin.post("/v1/workspaces", { name: "behind it", root: "." });
  const { body } = await reader.get(`/v1/events?after_event_id=${after}&limit=1`);
  assert.deepEqual(body.data, []);
  assert.equal(body.page.has_more, true);
  const found = await reader.listAll("/v1/events");
  assert.equal(found.length, seenBefore + 1);
  assert.equal(found.at(-1)?.resource.id, made.body.id);
  await using stream = await openStream(reader, "/v1/events/stream", { "last-event-id": after });
  const { value: frame } = await stream.frames.next();
  assert.equal(frame?.data.resource.id, made.body.id);
});

test("SEC-M6 streams of a task and of a session leave out what the key may not read", async () => {
  const session = await admin.createSession();
  const task = await admin.rehearse(session.id, "say a secret", "return done");
  const reader = await admin.withScopes("events:read", "sessions:read", "tasks:read");
  const shown = (await admin.listAll(`/v1/tasks/${task.id}/events`))
    .filter((event) => scopeOf(event) === "tasks:read")
    .map(({ id }) => id);
  await using stream = await openStream(reader, `/v1/tasks/${task.id}/stream`);
  const streamed: (string | null)[] = [];
  for await (const { id, data } of stream.frames) if (data !== null) streamed.push(id);
  assert.deepEqual(streamed, shown);
  await using frames = await openSocket(reader, `/v1/tasks/${task.id}/stream`);
  await frames.closed;
  assert.deepEqual(
    frames.events.map(({ event }) => event.id),
    shown,
  );
  const replay = await reader.call(`/v1/sessions/${session.id}/replay`, {
    method: "POST",
    headers: { accept: "application/json" },
  });
  assert.ok(replay.body.data.length > 0);
  assert.ok(
    replay.body.data.every((event: Json) => ["sessions:read", "tasks:read"].includes(scopeOf(event))),
  );
});

test("SEC-M6 a session's WebSocket sends open questions to keys that may read tasks", async () => {
  const session = await admin.createSession();
  await admin.rehearse(session.id, "approve wire the money");
  const blind = await admin.withScopes("events:read", "sessions:read", "messages:write");
  const reader = await admin.withScopes("events:read", "sessions:read", "tasks:read");
  await using seeing = await openSession(reader, session.id);
  assert.equal((await seeing.until("request")).kind, "authorization");
  await using unseeing = await openSession(blind, session.id);
  await unseeing.command({ type: "message.append", message: userMessage("later") });
  // The session's own event about the message follows everything that was open before.
  await unseeing.until(({ type, event }) => type === "event" && event.event === "session.message_appended");
  assert.deepEqual(
    unseeing.seen.filter(({ type }) => type === "request"),
    [],
  );
  assert.ok(unseeing.events.every(({ event }) => scopeOf(event) === "sessions:read"));
});

test("SEC-M6 registering a webhook or continuing a task over OPVS needs tasks:read", async () => {
  const session = await admin.createSession();
  const task = await admin.rehearse(session.id, "ask What now?");
  const writer = await admin.withScopes("tasks:write", "messages:write");
  const version = { "a2a-version": "1.0" };
  const hook = { url: "https://example.com/hook" };
  const config = await writer.post(`/opvs/rest/tasks/${task.id}/pushNotificationConfigs`, hook, version);
  const message = { messageId: "m", role: "ROLE_USER", taskId: task.id, parts: [{ text: "go on" }] };
  const sent = await writer.post("/opvs/rest/message:send", { message }, version);
  for (const { status, body } of [config, sent]) {
    assert.equal(status, 403, JSON.stringify(body));
    assert.match(JSON.stringify(body), /tasks:read/);
  }
});

test("SEC-M6 exporting a session needs every scope that reads what is in it", async () => {
  const { id } = await admin.sessionWithTurns("x");
  const scopes = ["events:read", "events:read_internal", "workspaces:read", "sessions:read", "messages:read"];
  const more = ["artifacts:read", "tasks:read", "receipts:read", "branches:read"];
  for (const missing of more) {
    const key = await admin.withScopes(...scopes, ...more.filter((scope) => scope !== missing));
    const error = errorOf(await key.get(`/v1/sessions/${id}/export`), 403);
    assert.equal(error.details.required_scope, missing);
  }
  const whole = await admin.withScopes(...scopes, ...more);
  const file = await fetch(`${whole.url}/v1/sessions/${id}/export`, { headers: whole.headers() });
  assert.equal(file.status, 200);
  assert.match(await file.text(), /"end":/);
});

test("SEC-M6 events about approvals show neither salts nor signatures, to nobody", async () => {
  const task = await stage.task(await stage.persona());
  await ann.decide(task, "approve");
  await stage.ended(task);
  const events = await admin.listAll(`/v1/tasks/${task.id}/events`);
  const requested = events.find(({ event }) => event === "vendor.bridle.approval.requested");
  const members = ["approver_id", "created_at", "expires_at", "reason", "request_id", "state"];
  assert.deepEqual(Object.keys(requested?.payload.exchange).sort(), members);
  const decided = events.find(({ event }) => event === "vendor.bridle.approval.decided");
  assert.deepEqual(decided?.payload, {
    request_id: requested?.payload.exchange.request_id,
    decision: "allow",
  });
});
