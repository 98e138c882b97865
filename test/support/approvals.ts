/** A server whose agents need approvals, and approvers with keys of their own who answer through its gateway. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { generateApproverKeys } from "../../src/harp/core/keys.ts";
import { Approver, type OpenedRequest } from "../../src/sdk/approver/approver.ts";
import { fixtureAgents } from "./cli.ts";
import { Client, isFinal, type Json, until } from "./client.ts";
import { deployer } from "./deployer.ts";
import {
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "./server.ts";

export class ApprovalStage {
  readonly directory: string;
  readonly #dispose: () => PromiseLike<void>;
  readonly #flags: string[];
  readonly #env: Record<string, string>;
  #server: TestServer | TestProcess | null = null;
  #officerKey: string | null = null;
  readonly #people: Person[] = [];

  private constructor(
    { path, [Symbol.asyncDispose]: dispose }: { path: string } & AsyncDisposable,
    flags: string[],
    env: Record<string, string>,
  ) {
    this.directory = path;
    this.#dispose = dispose;
    this.#flags = flags;
    this.#env = env;
  }

  static async open(flags: string[] = [], env: Record<string, string> = {}): Promise<ApprovalStage> {
    const stage = new ApprovalStage(await temporaryDirectory(), flags, env);
    await stage.restart();
    return stage;
  }

  /** In a process of its own; with a gateway elsewhere when flags and environment say so. */
  static async openProcess(flags: string[] = [], env: Record<string, string> = {}): Promise<ApprovalStage> {
    const stage = new ApprovalStage(await temporaryDirectory(), flags, env);
    await stage.restartProcess();
    return stage;
  }

  get server(): TestServer | TestProcess {
    assert.ok(this.#server !== null, "the server runs");
    return this.#server;
  }

  get client(): Client {
    return new Client(this.server);
  }

  /** Ends the server, a process at once, and goes on in this process: nobody may have it die from here on. */
  async restart(): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = await startServer({
      data: this.#data,
      flags: this.#flags,
      env: this.#env,
      config: { agents: [deployer(this.#deploys)] },
    });
  }

  /** The same in a process of its own. */
  async restartProcess(env: Record<string, string> = {}): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.#server = await startProcess({
      data: this.#data,
      flags: ["--agents", fixtureAgents("deployer.ts"), ...this.#flags],
      env: { BRIDLE_TEST_DEPLOYS: this.#deploys, ...this.#env, ...env },
    });
  }

  /** The process has ended by itself. */
  async died(): Promise<void> {
    const { server } = this;
    if (!("process" in server)) throw new Error("The server has no process of its own.");
    const child = server.process;
    await until(
      async () => child.exitCode ?? child.signalCode,
      (end) => end !== null,
    );
  }

  get #data(): string {
    return join(this.directory, "data");
  }

  get #deploys(): string {
    return join(this.directory, "deploys.txt");
  }

  /** Somebody who compares fingerprints, and makes no keys. */
  async officer(): Promise<Client> {
    const known = this.#officerKey;
    const key = known ?? (await this.client.createKey({ actor: "olga", scopes: ["approvers:write"] })).key;
    this.#officerKey = key;
    return this.client.as(key);
  }

  /** Pairs with somebody new, as people would: code, keys, fingerprint, confirmation. */
  async approver(approverId: string, at: { url: string; key: string } | null = null): Promise<Person> {
    const { path, fingerprint, person } = await this.offer(approverId, at);
    const confirmed = await (await this.officer()).post(`${path}/confirm`, { fingerprint });
    assert.equal(confirmed.status, 201, JSON.stringify(confirmed.body));
    if (confirmed.body.state === "pending") await this.#admit(fingerprint);
    this.#people.push(person);
    return person;
  }

  /** Everybody who is asked whether a key may approve agrees. */
  async #admit(fingerprint: string): Promise<void> {
    const isActive = async () => {
      const { data } = (await this.client.get("/v1/approvals/approvers")).body;
      return data.some((key: Json) => key.fingerprint === fingerprint && key.state === "active");
    };
    await until(async () => {
      for (const person of this.#people) await person.decideIfAsked(fingerprint, "approve");
      return await isActive();
    }, Boolean);
  }

  /** The same up to the confirmation, with keys that nobody has seen before. */
  async offer(approverId: string, at: { url: string; key: string } | null = null): Promise<Offer> {
    const keys = await generateApproverKeys(new Date());
    const key = at?.key ?? (await this.client.createKey({ scopes: [`harp:approver:${approverId}`] })).key;
    const reach = () => new Approver({ url: at?.url ?? `${this.server.url}/harp`, key, approverId, keys });
    const begun = await this.client.post("/v1/approvals/pairings", { workspace_name: "airlock" });
    assert.equal(begun.status, 201, JSON.stringify(begun.body));
    const offer = await reach().pair(begun.body.code);
    await offer.complete();
    const path = `/v1/approvals/pairings/${begun.body.nonce}`;
    const pairing = await until(
      async () => (await this.client.get(path)).body,
      ({ state }) => state === "completed",
    );
    assert.equal(pairing.fingerprint, offer.fingerprint);
    return { path, fingerprint: offer.fingerprint, person: new Person(approverId, reach) };
  }

  async persona(approval_policy: object = { channel: "harp" }): Promise<string> {
    const { body, status } = await this.client.post("/v1/personas", {
      name: "deployer",
      version: "1",
      entry_workflow: "deployer",
      description: "deploys",
      autonomy_tier: "act_with_approval",
      receipt_policy: "required",
      approval_policy,
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  /** A task that waits for its approval. */
  async task(personaId: string, text = "v1"): Promise<Json> {
    const session = await this.client.createSession();
    const task = await this.client.submit(session.id, text, { persona_id: personaId });
    return await this.client.untilTask(task.id, ({ status }) => status === "AUTH_REQUIRED");
  }

  ended(task: Json): Promise<Json> {
    return this.client.untilTask(task.id, isFinal);
  }

  deploysOf(task: Json): number {
    try {
      const lines = readFileSync(this.#deploys, "utf8").split("\n");
      return lines.filter((line) => line === task.id).length;
    } catch {
      return 0;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#dispose();
  }
}

/** A pairing that waits for somebody to confirm it. */
export interface Offer {
  path: string;
  fingerprint: string;
  person: Person;
}

export class Person {
  readonly id: string;
  readonly #reach: () => Approver;

  constructor(id: string, reach: () => Approver) {
    this.id = id;
    this.#reach = reach;
  }

  get approver(): Approver {
    return this.#reach();
  }

  /** What they are asked about a task or a change, once it is there. */
  async asked(about: Json | string): Promise<OpenedRequest> {
    const found = await until(
      () => this.#find(this.approver, about),
      (request) => request !== null,
    );
    assert.ok(found !== null);
    return found;
  }

  async #find(approver: Approver, about: Json | string): Promise<OpenedRequest | null> {
    for await (const request of approver.inbox()) {
      if ("artifact" in request && isAbout(request, about)) return request;
    }
    return null;
  }

  async decide(about: Json | string, verdict: "approve" | "deny", reason?: string): Promise<void> {
    await this.asked(about);
    assert.ok(await this.decideIfAsked(about, verdict, reason));
  }

  /** The same, when they are asked at all. */
  async decideIfAsked(about: Json | string, verdict: "approve" | "deny", reason?: string): Promise<boolean> {
    const { approver } = this;
    const request = await this.#find(approver, about);
    if (request === null) return false;
    await approver[verdict](request, reason === undefined ? {} : { reason });
    return true;
  }
}

/** A task, or a text that is in what is asked. */
function isAbout({ artifact: { payload } }: OpenedRequest, about: Json | string): boolean {
  return typeof about === "string" ? JSON.stringify(payload).includes(about) : payload.task === about.id;
}
