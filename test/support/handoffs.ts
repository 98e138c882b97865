/** What the tests of hand-offs share: a server whose agent hands work on, and ways to look at what came of it. */

import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before } from "node:test";
import { fixtureAgents } from "./cli.ts";
import { Client, type Json, until } from "./client.ts";
import { resultsOf } from "./policy.ts";
import type { RemoteAgent } from "./remote-agent.ts";
import { startProcess, startServer, type TestProcess, type TestServer } from "./server.ts";

/** Remotes of tests are on this machine. */
const flags = ["--agents", fixtureAgents("delegator.ts"), "--allow-private-addresses"];

export function start(data?: string): Promise<TestServer> {
  return startServer(data === undefined ? { flags } : { flags, data });
}

/** The same in a process of its own, which can be killed. */
export function startToKill(data?: string): Promise<TestProcess> {
  return startProcess(data === undefined ? { flags } : { flags, data });
}

/** Has the delegator hand work on; gives the task once it has ended or waits for somebody. */
export async function delegate(client: Client, requests: object[], fields: object = {}): Promise<Json> {
  const { session_id, ...rest } = { session_id: (await client.createSession()).id, ...fields };
  const body = { session_id, persona_id: "persona_delegator", input: { requests }, ...rest };
  const answer = await client.post("/v1/tasks", body, { prefer: "wait=30" });
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

/** The same without waiting for anything. */
export async function begin(client: Client, requests: object[], input: object = {}): Promise<Json> {
  const session = await client.createSession();
  const persona_id = "persona_delegator";
  const body = { session_id: session.id, persona_id, input: { requests, ...input } };
  const answer = await client.post("/v1/tasks", body);
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  return answer.body;
}

export async function resultOf(client: Client, requests: object[]): Promise<Json> {
  return (await resultsOf(client, await delegate(client, requests)))[0];
}

export async function eventsOf(client: Client, task: Json): Promise<Json[]> {
  return await client.listAll(`/v1/tasks/${task.id}/events`);
}

export function untilEvent(client: Client, task: Json, holds: (event: Json) => boolean): Promise<Json[]> {
  return until(
    () => eventsOf(client, task),
    (events) => events.some(holds),
  );
}

/** Any server that speaks HTTP, for what no agent would do. */
export async function serve(listener: RequestListener): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function sends(remote: RemoteAgent): string[] {
  return remote.requests.flatMap(({ what }) => (/Send|message:/.test(what) ? [what] : []));
}

/** The messages as they came. */
export function messagesIn(remote: RemoteAgent): Json[] {
  return remote.requests.flatMap(({ body }) => body?.params?.message ?? []);
}

/** A server that tests share; each has its own remotes. */
export function sharedServer(): { client: Client } {
  let server: TestServer;
  const shared = { client: new Client({ url: "" }) };
  before(async () => {
    server = await start();
    shared.client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());
  return shared;
}
