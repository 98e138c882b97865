/** A server of the agents in `fixture-agents/travel.ts`, and what tests have them do. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Client, isFinal, type Json } from "./client.ts";
import { startServer, type TestServer, temporaryDirectory } from "./server.ts";
import { travelAgents } from "./travel-agents.ts";

export interface Travel extends AsyncDisposable {
  server: TestServer;
  client: Client;
  data: string;
  /** Started again on the same data. */
  restart(): Promise<void>;
  /** What the agents' steps have really done, in order. */
  notes(): string[];
  /** A task of the travel agent, once it has ended or waits for somebody. */
  begin(sessionId: string, words: string): Promise<Json>;
  /** A task that ends; questions and requests for permission are answered. */
  complete(sessionId: string, words: string, approved?: boolean): Promise<Json>;
}

export async function startTravel(): Promise<Travel> {
  const directory = await temporaryDirectory();
  const data = join(directory.path, "data");
  const notes = join(directory.path, "notes");
  const start = () => startServer({ data, config: { agents: Object.values(travelAgents("", notes)) } });
  let server = await start();
  let client = new Client(server);

  async function begin(sessionId: string, words: string): Promise<Json> {
    const task = await client.submit(sessionId, words, { persona_id: "persona_travel" });
    return await client.untilTask(
      task.id,
      (seen) => isFinal(seen) || ["input", "approval"].includes(seen.waiting_for?.kind),
    );
  }

  async function answer(taskId: string, kind: string, requestId: string, approved: boolean): Promise<void> {
    const { status, body } =
      kind === "input"
        ? await client.answer(taskId, "on Monday")
        : await client.post(`/v1/permission-requests/${requestId}/respond`, { approved });
    assert.ok(status < 300, JSON.stringify(body));
  }

  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    data,
    async restart() {
      await server.stop();
      server = await start();
      client = new Client(server);
    },
    notes: () => (existsSync(notes) ? readFileSync(notes, "utf8").trimEnd().split("\n") : []),
    begin,
    async complete(sessionId, words, approved = true) {
      let task = await begin(sessionId, words);
      while (!isFinal(task)) {
        const { kind, permission_request_id } = task.waiting_for;
        await answer(task.id, kind, permission_request_id, approved);
        // It asks for a day before it asks for permission, and for each once.
        task = await client.untilTask(
          task.id,
          (seen) => isFinal(seen) || (kind === "input" && seen.waiting_for?.kind === "approval"),
        );
      }
      return task;
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
