/** A server with agents that call models and tools, and a server that plays their models: what tests have them do. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, isFinal, type Json, until } from "./client.ts";
import { ModelServer, type RecordedRequest, type Reply } from "./model-server.ts";
import { createPersona, createQuota } from "./policy.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "./server.ts";

const config = fileURLToPath(new URL("./model-runs-config.ts", import.meta.url));

/** What the player does: see `model-runs-config.ts`. */
export type Op = { do: string } & Record<string, unknown>;

export class ModelWorld implements AsyncDisposable {
  readonly models = new ModelServer();
  client!: Client;
  server!: TestProcess;
  persona!: Json;
  sessionId = "";
  readonly #scripts = new Map<string, Reply[]>();
  readonly #directory: Awaited<ReturnType<typeof temporaryDirectory>>;

  readonly #env: Record<string, string>;

  private constructor(
    directory: Awaited<ReturnType<typeof temporaryDirectory>>,
    env: Record<string, string>,
  ) {
    this.#directory = directory;
    this.#env = env;
  }

  static async start(env: Record<string, string> = {}): Promise<ModelWorld> {
    const world = new ModelWorld(await temporaryDirectory(), env);
    mkdirSync(join(world.#directory.path, "gates"));
    await world.models.start();
    world.models.always((request) => world.#replyTo(request));
    await world.startAgain();
    world.persona = await createPersona(world.client, { entry_workflow: "player" });
    world.sessionId = (await world.client.createSession()).id;
    return world;
  }

  get data(): string {
    return join(this.#directory.path, "data");
  }

  async startAgain(): Promise<void> {
    this.server = await startProcess({
      data: this.data,
      flags: ["--config", config],
      env: {
        MODEL_URL: this.models.url,
        BRIDLE_LOCAL_MODEL_URL: `${this.models.url}/v1`,
        AGENT_NOTES: join(this.#directory.path, "notes"),
        AGENT_GATES: join(this.#directory.path, "gates"),
        ...this.#env,
      },
    });
    this.client = new Client(this.server);
  }

  /** At once, with no chance to clean up; then another process goes on. */
  async crash(): Promise<void> {
    await this.server.kill();
    await this.startAgain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.kill();
    await this.models.stop();
    await this.#directory[Symbol.asyncDispose]();
  }

  /** How a prompt with this word is answered, call by call; the last answer is for all that come after it. */
  script(word: string, ...replies: Reply[]): void {
    this.#scripts.set(word, replies);
  }

  /** The requests whose input has the word. */
  requests(word: string): RecordedRequest[] {
    return this.models.requests.filter(({ body }) => JSON.stringify(body).includes(word));
  }

  /** The most recent word counts: a conversation has those of before, too. */
  #replyTo({ body }: RecordedRequest): Reply {
    const said = JSON.stringify(body);
    const [word] = [...this.#scripts.keys()].sort((a, b) => said.lastIndexOf(b) - said.lastIndexOf(a));
    const replies = word === undefined || !said.includes(word) ? [] : (this.#scripts.get(word) ?? []);
    return (replies.length > 1 ? replies.shift() : replies[0]) ?? { text: "Very well." };
  }

  /** Lets what waits at the gate go on, now and later. */
  open(gate: string): void {
    writeFileSync(join(this.#directory.path, "gates", gate), "");
  }

  /** What the tools have really done that has to do with the word. */
  notes(word: string): string[] {
    const file = join(this.#directory.path, "notes");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
    return lines.filter((line) => line.includes(word));
  }

  async noted(word: string): Promise<void> {
    await until(
      async () => this.notes(word),
      (lines) => lines.length > 0,
    );
  }

  /** Has the player do something; does not wait for it. */
  async begin(ops: Op[], { persona = this.persona, sessionId = this.sessionId } = {}): Promise<Json> {
    const { status, body } = await this.client.post("/v1/tasks", {
      session_id: sessionId,
      persona_id: persona.id,
      input: { ops },
    });
    assert.equal(status, 202, JSON.stringify(body));
    return body;
  }

  async ended({ id }: Json): Promise<Json> {
    return await this.client.untilTask(id, isFinal);
  }

  async play(ops: Op[], options: { persona?: Json; sessionId?: string } = {}): Promise<Json> {
    return await this.ended(await this.begin(ops, options));
  }

  /** A persona with a quota of its own. */
  async within(limits: object, fields: object = {}): Promise<{ persona: Json; quota: Json }> {
    const quota = await createQuota(this.client, { limits, ...fields });
    const persona = await createPersona(this.client, { entry_workflow: "player", quota_id: quota.id });
    return { persona, quota };
  }

  async events(task: Json, client = this.client): Promise<Json[]> {
    return await client.listAll(`/v1/tasks/${task.id}/events`);
  }

  async spans(task: Json, event = "span.completed"): Promise<Json[]> {
    return (await this.events(task)).filter((each) => each.event === event).map(({ payload }) => payload);
  }

  /** What the model has said so far, as it is told while it speaks. */
  async deltas(task: Json, client = this.client): Promise<Json[]> {
    const events = await this.events(task, client);
    return events.flatMap(({ event, payload }) =>
      event === "span.updated" && payload.delta !== undefined ? [payload.delta] : [],
    );
  }

  async heardSome(task: Json): Promise<void> {
    await until(
      () => this.deltas(task),
      (deltas) => deltas.length > 0,
    );
  }

  async output(task: Json): Promise<Json> {
    assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
    const messages = await this.client.listAll(`/v1/sessions/${task.session_id}/messages`);
    const said = messages.findLast(({ task_id, role }) => task_id === task.id && role === "agent");
    return said.parts[0].text ?? said.parts[0].value;
  }
}

/** An answer of which so much comes, and the rest never. */
export function heldAnswer(text: string): Reply {
  return { chunks: [text.repeat(60), text.repeat(60), text.repeat(60)], holdAfterChunks: 2 };
}

export const filler = "A sentence of some fifty characters, to fill a page. ";
