/** What the checks of the examples share: a server of their own that runs a project, and the few calls that they make of its REST API. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type BridleConfig, createMcp, type ModelSource, type Server, startServer } from "bridle";

export interface Project {
  config: BridleConfig;
  agents: Agent[];
  /** Answers from a script, so that a check needs neither network nor key. */
  models: ModelSource;
}

/** What the checks read of the server's answers. */
export interface Resource {
  id: string;
  status: string;
  outcome_id: string;
  receipt_id: string;
  summary: string;
  /** The secret of a connector that was just made. */
  secret: string;
  waiting_for: { description: string; permission_request_id: string } | null;
  valid: boolean;
}

const key = "example-key-for-this-machine";
const patienceMs = 30_000;

/** `bridle dev` does this with the folder; here it is done by hand, with models that answer from a script. */
export async function startProject({ config, agents, models }: Project): Promise<ExampleServer> {
  const data = mkdtempSync(join(tmpdir(), "bridle-example-"));
  const server = await startServer({
    agents,
    models,
    personas: config.personas ?? [],
    mcp: createMcp(config.mcpServers ?? {}, { version: "1.0.0" }),
    allowPrivateAddresses: config.allowPrivateAddresses ?? false,
    port: 0,
    dataDirectory: data,
    apiKey: key,
  });
  return new ExampleServer(server, data);
}

export class ExampleServer {
  readonly #server: Server;
  readonly #data: string;

  constructor(server: Server, data: string) {
    this.#server = server;
    this.#data = data;
  }

  get url(): string {
    return this.#server.url;
  }

  async fetch(path: string, body?: object): Promise<Response> {
    const response = await fetch(this.url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "harn-agents-protocol-version": "agents-protocol-2026-04-25",
        "content-type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
    return response;
  }

  async api(path: string, body?: object): Promise<Resource> {
    return (await (await this.fetch(path, body)).json()) as Resource;
  }

  /** Gives a persona something to do, in a session of its own. */
  async submit(personaId: string, input: object): Promise<Resource> {
    const session = await this.api("/v1/sessions", { workspace_id: "workspace_default" });
    return await this.api("/v1/tasks", { session_id: session.id, persona_id: personaId, input });
  }

  /** The task, once it has this status. One that ended otherwise will not have it any more. */
  async untilTask(id: string, status: string): Promise<Resource> {
    for (const until = performance.now() + patienceMs; performance.now() < until; ) {
      const task = await this.api(`/v1/tasks/${id}`);
      if (task.status === status) return task;
      assert.ok(!["COMPLETED", "FAILED", "CANCELED"].includes(task.status), JSON.stringify(task));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`Task ${id} did not become ${status} within ${patienceMs} ms`);
  }

  /** What the person says to a task that asked. */
  async answer(taskId: string, value: object): Promise<void> {
    const message = { role: "user", parts: [{ type: "json", value, visibility: "public" }] };
    await this.api(`/v1/tasks/${taskId}/messages`, { kind: "input", message });
  }

  /** In a few words, what came of a task that has ended. */
  async summaryOf({ outcome_id }: Resource): Promise<string> {
    return (await this.api(`/v1/outcomes/${outcome_id}`)).summary;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(1000);
    rmSync(this.#data, { recursive: true, force: true });
  }
}
