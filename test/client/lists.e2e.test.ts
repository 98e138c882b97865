/** What a command line needs of the client: who is there, what is allowed, which tasks, and sessions on the move. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type BridleClient, ConnectionFailed, createClient, NotFound } from "../../src/sdk/client/index.ts";
import { adminKey, startServer, type TestServer } from "../support/server.ts";

const waitMs = 60_000;

let server: TestServer;
let bridle: BridleClient;

before(async () => {
  server = await startServer();
  bridle = createClient({ url: server.url, key: adminKey });
});
after(() => server[Symbol.asyncDispose]());

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe("lists by the client", () => {
  test("CLT-11 lists and reads agents and personas; an unknown one is not found", async () => {
    // Given agents and personas, when they are listed and read, then an agent names its persona, and what is not there
    // is not found.
    const agents = await all(bridle.agents.all({ limit: 1 }));
    const rehearsal = agents.find(({ name }) => name === "rehearsal");
    assert.deepEqual(await bridle.agents.get("rehearsal"), rehearsal);
    const persona = await bridle.personas.get(rehearsal?.persona_id ?? "");
    assert.equal(persona.entry_workflow, "rehearsal");
    const { items } = await bridle.personas.list({ limit: 200 });
    assert.ok(items.some(({ id }) => id === persona.id));
    await assert.rejects(bridle.agents.get("nobody"), NotFound);
  });

  test("CLT-11 given a quota, when it is made, changed, used and deleted, then each shows", async () => {
    const quota = await bridle.quotas.create({ scope: "tenant", limits: { tasks: 1000 } });
    const { id } = await bridle.tasks.submit({ input: "counted" });
    await bridle.tasks.wait(id, { timeoutMs: waitMs });
    assert.equal((await bridle.quotas.get(quota.id)).usage.tasks, 1);
    const changed = await bridle.quotas.update(quota.id, { limits: { tasks: 2000 } });
    assert.deepEqual([changed.limits, changed.usage.tasks], [{ tasks: 2000 }, 1]);
    assert.ok((await all(bridle.quotas.all())).some((each) => each.id === quota.id));
    assert.equal((await bridle.quotas.delete(quota.id)).id, quota.id);
    await assert.rejects(bridle.quotas.get(quota.id), NotFound);
  });

  test("CLT-11 walking all tasks yields each once, and leaving early fetches no more pages", async () => {
    // Given many tasks, when all of a kind are walked, then each comes once, and whoever leaves asks for no more pages.
    const session = await bridle.sessions.create();
    const began = new Date();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++)
      ids.push(
        (await bridle.tasks.submit({ sessionId: session.id, agent: "rehearsal", input: "ask Go on?" })).id,
      );
    for (const id of ids) await bridle.tasks.wait(id, { timeoutMs: waitMs });
    const waiting = {
      sessionId: session.id,
      status: "INPUT_REQUIRED",
      agent: "rehearsal",
      since: began,
      limit: 2,
    } as const;
    const walked = await all(bridle.tasks.all(waiting));
    assert.deepEqual(walked.map(({ id }) => id).sort(), [...ids].sort());
    assert.deepEqual((await bridle.tasks.list({ ...waiting, status: "COMPLETED" })).items, []);

    let pages = 0;
    const counting = createClient({
      url: server.url,
      key: adminKey,
      fetch(input, init) {
        pages += 1;
        return fetch(input, init);
      },
    });
    for await (const task of counting.tasks.all(waiting)) if (task.id !== undefined) break;
    assert.equal(pages, 1);
  });

  test("CLT-11 explaining a task says in a sentence why it waits, and another once it ended", async () => {
    // Given a task that waits, when it is asked why, then it is said in a sentence, and another when it has ended.
    const { id } = await bridle.tasks.submit({ agent: "rehearsal", input: "ask Where to?" });
    await bridle.tasks.wait(id, { timeoutMs: waitMs });
    const waiting = await bridle.tasks.why(id);
    assert.deepEqual([waiting.waits_for, waiting.status], ["input", "INPUT_REQUIRED"]);
    assert.match(waiting.sentence, /Where to\?/);
    await bridle.tasks.cancel(id, { reason: "Nowhere" });
    assert.match((await bridle.tasks.why(id)).sentence, /canceled by admin: Nowhere/);
  });
});

describe("sessions on the move", () => {
  test("CLT-12 a fork has the session's transcript, and the closed session takes no more tasks", async () => {
    // Given a session with work in it, when it is forked and closed, then the fork has its transcript and it takes no
    // more.
    const session = await bridle.sessions.create();
    const { id } = await bridle.tasks.submit({ sessionId: session.id, input: "remember me" });
    await bridle.tasks.wait(id, { timeoutMs: waitMs });
    const fork = await bridle.sessions.fork(session.id, { metadata: { why: "to try" } });
    assert.notEqual(fork.id, session.id);
    const texts = async (sessionId: string) =>
      (await all(bridle.sessions.allMessages(sessionId, { limit: 1 }))).map(({ parts }) => parts);
    assert.deepEqual(await texts(fork.id), await texts(session.id));
    assert.equal((await bridle.sessions.close(session.id)).state, "CLOSED");
    await assert.rejects(bridle.tasks.submit({ sessionId: session.id, input: "late" }));
  });

  test("CLT-12 a session log, as text or a stream, imports into another server once", async () => {
    // Given the log of a session, when its lines go straight from one server to another, as text or as they come, then
    // the session is there, once.
    await using other = await startServer();
    const there = createClient({ url: other.url, key: adminKey });
    const session = await bridle.sessions.create();
    const { id } = await bridle.tasks.submit({
      sessionId: session.id,
      agent: "rehearsal",
      input: "say One\nsay Two",
    });
    await bridle.tasks.wait(id, { timeoutMs: waitMs });
    const moved = await there.sessions.import(bridle.sessions.export(session.id));
    assert.equal(moved.id, session.id);
    const lines = await all(bridle.sessions.export(session.id));
    assert.ok(lines.every((line) => typeof JSON.parse(line) === "object"));
    assert.equal((await there.tasks.get(id)).status, "COMPLETED");
    await assert.rejects(there.sessions.import(`${lines.join("\n")}\n`), "it is there already");
    assert.ok((await all(bridle.tasks.export(id))).length > 1);
    for await (const line of bridle.sessions.export(session.id)) if (line !== "") break;
    await assert.rejects(all(bridle.sessions.export("session_none")), NotFound);
    const failing = async function* () {
      yield lines[0] ?? "";
      throw new Error("The file cannot be read");
    };
    await assert.rejects(there.sessions.import(failing()), ConnectionFailed);
  });
});
