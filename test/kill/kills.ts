/**
 * Kills a real server at the n-th visit of a named fail point, for every n until nothing is left to visit, while a task that came over
 * one protocol goes through all its states; starts it again and looks whether what was acknowledged came to its end, once.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import type { FailPoint } from "../../src/store/fail-point.ts";
import { type Outside, openOutside } from "../soak/outside.ts";
import { type Place, submitters } from "../soak/submitters.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { reservedPort } from "../support/ports.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

export interface Killed {
  point: FailPoint;
  protocol: string;
  store: string;
  visit: number;
  /** What a client was last shown of the task before the process ended. */
  state: string;
  /** What does not hold; null when all does. */
  fault: string | null;
}

export interface KillOptions {
  points: readonly FailPoint[];
  protocols: readonly string[];
  postgres: TestPostgres | null;
  /** At most so many kills of a fail point and a protocol. */
  visitsMax: number;
  onKilled(killed: Killed): void;
}

const agentsModule = join(import.meta.dirname, "../soak/agents.ts");
/** In this order a task is in every state that it can be in. */
const text = "step ask file effect sleep tool say";
/** Points that only other work comes by. */
const beside: Partial<Record<FailPoint, (client: Client, place: Place, taskId: string) => Promise<void>>> = {
  "blob.write": (client) => upload(client),
  "blobs.dropped": eraseAfter,
  scrubbed: eraseAfter,
};
const patienceMs = 30_000;
/** A process that has not come by the point a moment after its work is over never will. */
const quietMs = 700;

export async function kills(options: KillOptions): Promise<void> {
  for (const protocol of options.protocols) {
    await using site = await Site.open(options.postgres);
    for (const point of options.points) {
      for (let visit = 1; visit <= options.visitsMax; visit++) {
        const killed = await site.kill(point, protocol, visit);
        if (killed === null) break;
        options.onKilled(killed);
        if (killed.fault !== null) return;
      }
    }
    await site.finish();
  }
}

class Site implements AsyncDisposable {
  readonly #outside: Outside;
  readonly #directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  readonly #env: Record<string, string>;
  readonly #port: string;
  readonly #store: string;
  #process: TestProcess | null = null;
  /** Tasks from then on are of this kill. */
  #begun = "";

  private constructor(
    outside: Outside,
    directory: Awaited<ReturnType<typeof temporaryDirectory>>,
    { env, port, store }: { env: Record<string, string>; port: string; store: string },
  ) {
    this.#outside = outside;
    this.#directory = directory;
    this.#env = env;
    this.#port = port;
    this.#store = store;
  }

  static async open(postgres: TestPostgres | null): Promise<Site> {
    const [outside, directory] = [await openOutside(), await temporaryDirectory()];
    const url = await postgres?.newDatabase();
    const env = {
      SOAK_OUTSIDE: outside.url,
      BRIDLE_GRPC_PORT: await reservedPort(),
      ...(url === undefined ? {} : { BRIDLE_DATABASE_URL: url }),
    };
    const store = postgres === null ? "sqlite" : "postgres";
    const site = new Site(outside, directory, { env, port: await reservedPort(), store });
    await site.#start();
    await site.#client.call("/v1/personas/persona_soaker", {
      method: "PATCH",
      body: { autonomy_tier: "act_with_approval" },
    });
    await site.#stop();
    return site;
  }

  get #client(): Client {
    return new Client({ url: `http://127.0.0.1:${this.#port}` });
  }

  async #start(failPoint?: string): Promise<void> {
    const data = join(this.#directory.path, "data");
    const flags = ["--port", this.#port, "--agents", agentsModule, "--allow-private-addresses"];
    const env = { ...this.#env, ...(failPoint === undefined ? {} : { BRIDLE_FAIL_POINT: failPoint }) };
    this.#process = await startProcess({ args: ["--data", data, ...flags], data, env });
  }

  async #stop(): Promise<void> {
    await this.#process?.stop();
    this.#process = null;
  }

  /** Null when it does not come by the point so often. */
  async kill(point: FailPoint, protocol: string, visit: number): Promise<Killed | null> {
    const seen: { task: Json | null } = { task: null };
    const place = await this.#place();
    const works = { isOver: false };
    this.#begun = new Date(Date.now() + 1).toISOString();
    const [process, startError] = await this.#armed(`${point}:${visit}`);
    const died = process === null ? Promise.resolve() : once(process.process, "exit");
    const key = `${point}-${protocol}-${visit}`;
    const working = startError ? null : this.#work(place, { point, protocol, key }, seen, works);
    const isDead = await Promise.race([died.then(() => true), working?.then(() => false) ?? never()]);
    if (!isDead) {
      await this.#stop();
      return null;
    }
    works.isOver = true;
    await working?.catch(() => {});
    this.#process = null;
    const fault = await this.#survives(place, { point, protocol, key }, seen).catch(
      (error: Error) => error.message,
    );
    const state = seen.task === null ? "not seen yet" : stateOf(seen.task);
    return { point, protocol, store: this.#store, visit, state, fault };
  }

  async #place(): Promise<Place> {
    await this.#start();
    const { id } = await this.#client.createSession();
    await this.#stop();
    return {
      url: this.#client.url,
      grpcUrl: `http://127.0.0.1:${this.#env.BRIDLE_GRPC_PORT}`,
      sessionId: id,
    };
  }

  /** It may die while it starts. */
  async #armed(failPoint: string): Promise<[TestProcess | null, boolean]> {
    try {
      await this.#start(failPoint);
      return [this.#process, false];
    } catch {
      return [null, true];
    }
  }

  async #work(
    place: Place,
    { point, protocol, key }: Work,
    seen: { task: Json | null },
    works: { isOver: boolean },
  ): Promise<void> {
    const submitted = this.#submit(place, protocol, key).catch(() => null);
    if (point === "webhook.taken") void this.#hook(place, seen, works);
    const isDone = () => works.isOver || (seen.task !== null && isFinal(seen.task));
    await this.#attend(place, seen, isDone);
    const taskId = await submitted;
    if (taskId !== null && seen.task !== null) {
      await beside[point]?.(this.#client, place, seen.task.id).catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, quietMs));
  }

  /** A webhook for the task as soon as there is one. */
  async #hook(place: Place, seen: { task: Json | null }, works: { isOver: boolean }): Promise<void> {
    while (seen.task === null && !works.isOver) await new Promise((resolve) => setTimeout(resolve, 5));
    const params = { taskId: seen.task?.id, id: "hook", url: `${this.#outside.url}/hook` };
    const call = { jsonrpc: "2.0", id: 1, method: "CreateTaskPushNotificationConfig", params };
    await new Client(place).post("/opvs/rpc", call, { "a2a-version": "1.0" }).catch(() => {});
  }

  async #submit(place: Place, protocol: string, key: string): Promise<string> {
    const submitter = submitters[protocol];
    assert.ok(submitter !== undefined);
    return await submitter.submit(place, key, text);
  }

  /** Follows the newest task and answers it. */
  async #attend(place: Place, seen: { task: Json | null }, isDone: () => boolean): Promise<void> {
    const client = new Client(place);
    const deadline = Date.now() + patienceMs;
    while (!isDone()) {
      assert.ok(Date.now() < deadline, `stuck: ${JSON.stringify(seen.task)}`);
      const answer = await client.get("/v1/tasks?limit=1").catch(() => null);
      const task: Json = answer?.body?.data?.[0];
      if (task !== undefined && task.created_at >= this.#begun) seen.task = task;
      await this.#answer(client, seen.task).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  async #answer(client: Client, task: Json): Promise<void> {
    if (task?.status === "INPUT_REQUIRED") await client.answer(task.id, "yes");
    if (task?.status !== "AUTH_REQUIRED") return;
    const path = `/v1/permission-requests/${task.waiting_for?.permission_request_id}/respond`;
    await client.post(path, { approved: true });
  }

  /** Started again, it takes the same request once more and brings the task to its end. */
  async #survives(place: Place, { point, protocol, key }: Work, seen: { task: Json | null }): Promise<null> {
    await this.#start();
    const before = seen.task?.id ?? null;
    // What is known of a request is erased with its session.
    const isErased = beside[point] === eraseAfter;
    const isRepeatable = submitters[protocol]?.isRepeatable === true && !isErased;
    const after: { task: Json | null } = { task: null };
    const again = isRepeatable ? this.#submit(place, protocol, key) : Promise.resolve(before);
    const attended = this.#attend(
      place,
      after,
      () => isErased || (after.task !== null && isFinal(after.task)),
    );
    if (before !== null || isRepeatable) await attended;
    else void attended.catch(() => {});
    const taskId = await again;
    if (before !== null && isRepeatable) assert.equal(taskId, before, "the same request is the same task");
    const { status, failure } = after.task ?? { status: "COMPLETED", failure: null };
    const isUnknowable = ["outcome_unknown", "approval_used"].includes(failure?.code);
    assert.ok(status === "COMPLETED" || isUnknowable, `${status} ${JSON.stringify(failure)}`);
    for (const [act, times] of this.#outside.acts) {
      const isOnce = act.includes(":effect:") || act.includes(":tool:");
      assert.ok(!isOnce || times.length === 1, `${act} happened ${times.length} times`);
    }
    await this.#stop();
    return null;
  }

  /** The log of all these lives together. */
  async finish(): Promise<void> {
    await this.#stop();
    if (this.#store === "sqlite") await assertRebuildable(join(this.#directory.path, "data"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.kill();
    await this.#outside[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

interface Work {
  point: FailPoint;
  protocol: string;
  key: string;
}

function stateOf({ status }: Json): string {
  return status;
}

function never(): Promise<never> {
  return new Promise(() => {});
}

async function upload(client: Client): Promise<void> {
  await fetch(`${client.url}/v1/artifacts/upload?kind=file&name=note.txt`, {
    method: "POST",
    headers: client.headers({ "content-type": "text/plain" }),
    body: "content ".repeat(10_000),
  });
}

async function eraseAfter(client: Client, { sessionId }: Place): Promise<void> {
  await client.post(`/v1/sessions/${sessionId}/erase`);
}
