/** SEC-M5: being a host takes a scope of its own, and the actor that made the session. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defaultConfig } from "../../src/server/config.ts";
import { continued, directivesOf, everything, outcome, Shell } from "../openharness/wire.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession, openSocket } from "../support/socket.ts";

const wallet = { host_capabilities: ["wallet.sign"] };
const usual = [
  "tasks:write",
  "tasks:read",
  "events:read",
  "sessions:read",
  "sessions:write",
  "messages:read",
];

let server: TestServer;
let client: Client;

before(async () => {
  const openHarness = { ...defaultConfig.openHarness, waitMs: 500 };
  server = await startServer({ config: { ...config, openHarness } });
  client = new Client(server);
});

after(() => server[Symbol.asyncDispose]());

async function as(actor: string, ...more: string[]): Promise<Client> {
  return client.as((await client.createKey({ actor, scopes: [...usual, ...more] })).key);
}

/** A task that sends its PIN to a host and says what it got. */
async function sign(by: Client, sessionId: string): Promise<Json> {
  const text = 'host wallet.sign {"pin":"1234"}\nreturn done';
  const task = await by.submit(sessionId, text, { persona_id: "persona_rehearsal" });
  return await by.untilTask(task.id, ({ waiting_for }) => waiting_for?.kind === "host");
}

test("SEC-M5 a key without the scope, or a stranger with it, is no host and is not believed", async () => {
  const ann = await as("ann", "host:wallet.sign");
  const session = await ann.createSession();
  const task = await sign(ann, session.id);
  const callId = `${task.id}:host:wallet.sign:1`;
  const strangers = [
    { by: await as("mallory"), needs: "host:wallet.sign" },
    { by: await as("mallory", "host:clipboard.read"), needs: "host:wallet.sign" },
    { by: await as("mallory", "host:wallet.sign"), needs: "hosts:write" },
  ];
  for (const { by, needs } of strangers) {
    await using socket = await openSocket(by, `/v1/sessions/${session.id}/ws`);
    const refused = await socket.refusal({ type: "hello", ...wallet });
    assert.deepEqual([refused.code, refused.details.required_scope], ["permission_denied", needs]);
    assert.equal((await socket.ask({ type: "hello" })).type, "ready", "listening is another matter");
    const forged = { type: "host.result", call_id: callId, output: { signature: "forged" } };
    assert.equal((await socket.refusal(forged)).code, "permission_denied");
    assert.ok(!JSON.stringify(socket.seen).includes("1234"), "the input was not sent");
  }
  await using host = await openSession(ann, session.id, wallet);
  const request = await host.until(({ type }) => type === "request");
  assert.deepEqual(request.input, { pin: "1234" });
  const given = { type: "host.result", call_id: request.call_id, output: { signature: "true" } };
  assert.notEqual((await host.ask(given)).type, "error");
  assert.equal((await ann.untilTask(task.id, isFinal)).status, "COMPLETED");
});

test("SEC-M5 hosts:write is for the sessions of others as well", async () => {
  const ann = await as("ann");
  const session = await ann.createSession();
  const task = await sign(ann, session.id);
  await using host = await openSession(await as("robot", "hosts:write"), session.id, wallet);
  const request = await host.until(({ type }) => type === "request");
  assert.equal(request.task_id, task.id);
});

test("SEC-M5 a shell gets directives to carry out, and is believed, with the scope only", async () => {
  const press = { action_type: "simulate_action", payload: { macro: "cmd+c", target: "secret_cell" } };
  const direct = (by: Client) =>
    new Shell(server)
      .as(by.key)
      .say({ directives: [press] }, { task_hint: { sop_id: "director" } }, { capabilities: everything });
  const told = await direct(await as("mute"));
  assert.ok(!JSON.stringify(told).includes("secret_cell"), JSON.stringify(told));

  const able = await as("shell", "host:shell.simulate_action");
  const asked = await direct(able);
  const [directive] = directivesOf(asked);
  assert.match(JSON.stringify(directive), /secret_cell/);
  const back = await new Shell(server)
    .as(able.key)
    .send(continued(asked, { outcomes: [outcome(directive)] }));
  assert.match(JSON.stringify(back), /completed/);
});
