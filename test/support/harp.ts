/**
 * A thin client of a HARP gateway for tests: enforcers and approvers that send what they are told and give back exactly
 * what came, after checking that every envelope among it is one that a gateway may emit.
 */

import assert from "node:assert/strict";
import { createCipheriv, createHash, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewaySettings, gatewayDefaults } from "../../src/harp/gateway/settings.ts";
import { type Answer, Client, type Json } from "./client.ts";
import { assertEnvelope, assertErrorEnvelope } from "./harp-schemas.ts";
import {
  main,
  type ProcessOptions,
  startProcess,
  startServer,
  type TestProcess,
  type TestServer,
  temporaryDirectory,
} from "./server.ts";

export const mediaType = "application/harp+json";

export type Role = "enforcer" | "approver";

export interface HarpCall {
  method?: string;
  body?: unknown;
  /** Sent as it is, instead of `body` as JSON. */
  raw?: string | Uint8Array;
  /** What is undefined is not sent. */
  headers?: Record<string, string | undefined>;
  key?: string | null;
}

/** Calls the binding at `base`, where `/v1/...` is, and checks whatever comes back. */
export async function callHarp(base: string, path: string, call: HarpCall = {}): Promise<Answer> {
  const content = call.raw ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  const headers = {
    "x-harp-version": "0.2",
    ...(content === undefined ? {} : { "content-type": mediaType }),
    ...(call.key == null ? {} : { authorization: `Bearer ${call.key}` }),
    ...call.headers,
  };
  const response = await fetch(base + path, {
    method: call.method ?? (content === undefined ? "GET" : "POST"),
    headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
    ...(content === undefined ? {} : { body: content }),
  });
  const text = await response.text();
  const answer = {
    status: response.status,
    headers: response.headers,
    body: text === "" ? null : JSON.parse(text),
  };
  assertHarpAnswer(answer);
  return answer;
}

/** Of every answer: the media type, the version, and an envelope wherever there is one. Never an error of the server. */
export function assertHarpAnswer({ status, headers, body }: Answer): void {
  const shown = `${status} ${JSON.stringify(body)?.slice(0, 500)}`;
  assert.notEqual(status, 500, shown);
  assert.match(headers.get("x-harp-version") ?? "", /^0\.2(\.\d+)?$/, shown);
  if (status === 204) assert.equal(body, null);
  else assert.match(headers.get("content-type") ?? "", /^application\/harp\+json(; charset=utf-8)?$/, shown);
  if (status >= 400) assertErrorEnvelope(body, status);
  else if (body?.msgType !== undefined) assertEnvelope(body);
}

/** The body of an error that has this status and code. */
export function refusal({ status, body }: Answer, expectedStatus: number, code?: string): Json {
  assert.equal(status, expectedStatus, JSON.stringify(body));
  if (code !== undefined) assert.equal(body.body.code, code, JSON.stringify(body));
  return body.body;
}

/** The body of a success, which is an envelope of this type. */
export function accepted({ status, body }: Answer, expectedStatus: number, msgType: string): Json {
  assert.equal(status, expectedStatus, JSON.stringify(body));
  assert.equal(body.msgType, msgType);
  return body.body;
}

let named = 0;

/** A name that no other test of this process uses. */
export function fresh(prefix: string): string {
  named += 1;
  return `${prefix}-${named}-${randomBytes(4).toString("hex")}`;
}

export function randomHash(): string {
  return `sha256:${randomBytes(32).toString("hex")}`;
}

/** An artifact as an enforcer seals it: a key that only approvers would have, and the hash of what is inside. */
export function seal(plaintext: string): { ciphertext: Json; artifactHash: string; key: Buffer } {
  const key = randomBytes(32);
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const data = Buffer.concat([cipher.update(plaintext, "utf8"), cipher.final()]);
  const ciphertext = {
    alg: "AES-256-GCM",
    data: data.toString("base64url"),
    nonce: nonce.toString("base64url"),
    tag: cipher.getAuthTag().toString("base64url"),
  };
  const artifactHash = `sha256:${createHash("sha256").update(plaintext).digest("hex")}`;
  return { ciphertext, artifactHash, key };
}

export interface Submitted {
  requestId: string;
  envelope: Json;
  artifactHash: string;
  /** The body of `artifact.accepted`. */
  accepted: Json;
}

export interface SubmitOptions {
  requestId?: string;
  /** Members of the envelope, over the usual ones; undefined takes one away. */
  envelope?: Record<string, unknown>;
  /** Members of the body, likewise. */
  body?: Record<string, unknown>;
  /** How long it may be decided. */
  lifeMs?: number;
}

const lifeMsDefault = 10 * 60_000;

/** An enforcer or an approver of a tenant, with a key of its own. */
export class Party {
  readonly gateway: Gateway;
  readonly tenantId: string;
  readonly role: Role;
  readonly id: string;
  readonly key: string;

  constructor(gateway: Gateway, tenantId: string, role: Role, id: string, key: string) {
    this.gateway = gateway;
    this.tenantId = tenantId;
    this.role = role;
    this.id = id;
    this.key = key;
  }

  get sender(): Json {
    return { [`${this.role}Id`]: this.id };
  }

  call(path: string, call: HarpCall = {}): Promise<Answer> {
    return callHarp(this.gateway.base, path, { key: this.key, ...call });
  }

  get(path: string): Promise<Answer> {
    return this.call(path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.call(path, { method: "POST", body });
  }

  delete(path: string): Promise<Answer> {
    return this.call(path, { method: "DELETE" });
  }

  envelope(msgType: string, requestId: string, body: object, extra: object = {}): Json {
    return { msgType, requestId, createdAt: this.gateway.time(), sender: this.sender, body, ...extra };
  }

  artifact({ requestId = fresh("req"), envelope = {}, body = {}, lifeMs }: SubmitOptions = {}): Json {
    const artifact = {
      artifactType: "core.artifact",
      artifactHash: randomHash(),
      ciphertext: { alg: "AES-256-GCM", data: randomBytes(48).toString("base64url") },
      expiresAt: this.gateway.time(lifeMs ?? lifeMsDefault),
      ...body,
    };
    return this.envelope("artifact.submit", requestId, artifact, envelope);
  }

  /** Submits an artifact that must be accepted. */
  async submit(options: SubmitOptions = {}): Promise<Submitted> {
    const envelope = this.artifact(options);
    const answer = await this.post("/v1/artifacts", envelope);
    return {
      requestId: envelope.requestId,
      envelope,
      artifactHash: envelope.body.artifactHash,
      accepted: accepted(answer, 202, "artifact.accepted"),
    };
  }

  decision(
    { requestId, artifactHash }: Pick<Submitted, "requestId" | "artifactHash">,
    body: Json = {},
  ): Json {
    return this.envelope("decision.submit", requestId, {
      artifactHash,
      decision: "approve",
      signerKeyId: `key-${this.id}`,
      nonce: randomBytes(16).toString("base64url"),
      signature: randomBytes(64).toString("base64url"),
      ...body,
    });
  }

  /** Sends a decision, whatever becomes of it. */
  async decide(submitted: Pick<Submitted, "requestId" | "artifactHash">, body: object = {}): Promise<Answer> {
    return await this.post("/v1/decisions", this.decision(submitted, body));
  }

  ackOf(requestId: string, msgId: string, body: object = {}): Json {
    const ack = { msgId, status: "processed", ackAt: this.gateway.time(), ...body };
    return this.envelope("ack.submit", requestId, ack);
  }

  async acknowledge(requestId: string, msgId: string, body: object = {}): Promise<Answer> {
    return await this.post("/v1/acks", this.ackOf(requestId, msgId, body));
  }

  /** The body of `exchange.status`. */
  async status(requestId: string): Promise<Json> {
    return accepted(await this.get(`/v1/exchanges/${requestId}`), 200, "exchange.status");
  }

  async state(requestId: string): Promise<string> {
    return (await this.status(requestId)).state;
  }

  wait(requestId: string, timeout: number | string = 60): Promise<Answer> {
    return this.get(`/v1/exchanges/${requestId}/wait?timeout=${timeout}`);
  }

  withdraw(requestId: string): Promise<Answer> {
    return this.post(`/v1/exchanges/${requestId}/withdraw`);
  }

  /** Every item of this party's inbox, or of the expired one, page by page. */
  async inbox(which: "" | "/expired" = "", limit = 100): Promise<Json[]> {
    const items: Json[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/v1/${this.role}s/${this.id}/inbox${which}?limit=${limit}${query}`;
      const page: Json = accepted(await this.get(path), 200, "inbox.page");
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return items;
  }

  /** The one item of the inbox that is about the request, if there is one. */
  async item(requestId: string, which: "" | "/expired" = ""): Promise<Json> {
    const [item, ...others] = (await this.inbox(which)).filter((found) => found.requestId === requestId);
    assert.equal(others.length, 0, "an exchange is one item of an inbox");
    return item;
  }
}

/** Pairs the two and gives the routing token. */
export async function pair(enforcer: Party, approver: Party, labels: object = {}): Promise<string> {
  const initiated = await enforcer.post("/v1/pairing/initiate", { enforcerId: enforcer.id, ...labels });
  assert.equal(initiated.status, 200, JSON.stringify(initiated.body));
  const { code, nonce } = initiated.body;
  const resolved = await approver.get(`/v1/pairing/resolve/${code}`);
  assert.equal(resolved.status, 200, JSON.stringify(resolved.body));
  const completed = await approver.post("/v1/pairing/complete", { nonce, approverId: approver.id });
  assert.equal(completed.status, 200, JSON.stringify(completed.body));
  return completed.body.routingToken;
}

/** A tenant with one enforcer and one approver to begin with. */
export interface Tenant {
  id: string;
  enforcer: Party;
  approver: Party;
}

export interface GatewayOptions extends ProcessOptions {
  /** Settings that no flag has, for a gateway in this process: times that are short enough to see. */
  settings?: Partial<GatewaySettings>;
  /** `bridle gateway` instead of `bridle serve`. */
  standalone?: boolean;
  /** Has a clock that `moveTo` and `moveBy` move. */
  movable?: boolean;
}

export class Gateway implements AsyncDisposable {
  server: TestServer | TestProcess;
  readonly #options: GatewayOptions;
  readonly #directory: { path: string } & AsyncDisposable;
  readonly #adminKeys = new Map<string, string>();
  #offsetMs = 0;

  constructor(server: TestServer, options: GatewayOptions, directory: { path: string } & AsyncDisposable) {
    this.server = server;
    this.#options = options;
    this.#directory = directory;
  }

  /** Where `/v1/...` of the binding is. */
  get base(): string {
    return this.#options.standalone === true ? this.server.url : `${this.server.url}/harp`;
  }

  get admin(): Client {
    return new Client(this.server);
  }

  get data(): string {
    return this.server.data;
  }

  /** What the gateway's clock says, or will say. */
  now(inMs = 0): number {
    return Date.now() + this.#offsetMs + inMs;
  }

  time(inMs = 0): string {
    return new Date(this.now(inMs)).toISOString();
  }

  moveBy(ms: number): void {
    assert.ok(this.#options.movable, "the clock was not asked for");
    this.#offsetMs += ms;
    writeFileSync(clockIn(this.#directory.path), String(this.#offsetMs));
  }

  moveTo(time: string): void {
    this.moveBy(Date.parse(time) - this.now());
  }

  async restart(): Promise<void> {
    if (!("kill" in this.server)) throw new Error("Only a gateway in a process of its own can be killed.");
    await this.server.kill();
    this.server = await startGatewayServer(this.#options, this.#directory.path);
  }

  async party(role: Role, id: string, tenantId: string): Promise<Party> {
    const { key } = await this.admin.createKey({
      actor: id,
      scopes: [`harp:${role}:${id}`],
      tenant_id: tenantId,
    });
    return new Party(this, tenantId, role, id, key);
  }

  enforcer(tenantId: string, id = fresh("enf")): Promise<Party> {
    return this.party("enforcer", id, tenantId);
  }

  /** An approver who has been there once, from when on requests for the whole tenant go to it too. */
  async approver(tenantId: string, id = fresh("app")): Promise<Party> {
    const approver = await this.party("approver", id, tenantId);
    assert.deepEqual(await approver.inbox(), []);
    return approver;
  }

  async tenant(id: string = `tenant_${fresh("t")}`): Promise<Tenant> {
    return { id, enforcer: await this.enforcer(id), approver: await this.approver(id) };
  }

  /** Who administers a tenant. */
  async adminOf(tenantId: string): Promise<Client> {
    const known = this.#adminKeys.get(tenantId);
    const key = known ?? (await this.admin.createKey({ tenant_id: tenantId })).key;
    this.#adminKeys.set(tenantId, key);
    return this.admin.as(key);
  }

  async revokeKey(tenantId: string, keyId: string): Promise<void> {
    const admin = await this.adminOf(tenantId);
    const { status } = await admin.call(`/v1/api-keys/${keyId}`, { method: "DELETE" });
    assert.equal(status, 200);
  }

  /** Cancels as an administrator of the tenant, which HARP has no message for. */
  async cancel(tenantId: string, requestId: string): Promise<{ status: number; body: Json }> {
    const { key } = await this.adminOf(tenantId);
    const response = await fetch(`${this.base}/v1/exchanges/${requestId}/cancel`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
    });
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/, "it is not HARP");
    return { status: response.status, body: await response.json() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}

function clockIn(directory: string): string {
  return join(directory, "clock");
}

const movedClock = new URL("./moved-clock.ts", import.meta.url).href;

async function startGatewayServer(options: GatewayOptions, directory: string): Promise<TestServer> {
  const { standalone, movable, settings, ...rest } = options;
  if (!(standalone || movable || "script" in rest || "args" in rest)) {
    const config = settings === undefined ? {} : { gateway: { ...gatewayDefaults, ...settings } };
    return await startServer({ data: join(directory, "data"), ...rest, config });
  }
  const clock = { NODE_OPTIONS: `--import ${movedClock}`, MOVED_CLOCK: clockIn(directory) };
  return await startProcess({
    data: join(directory, "data"),
    ...rest,
    ...(standalone === true
      ? { script: main, flags: [], args: ["gateway", "--port", "0", ...flagsOf(options, directory)] }
      : {}),
    env: { ...(movable === true ? clock : {}), ...rest.env },
  });
}

function flagsOf({ data, flags = [] }: GatewayOptions, directory: string): string[] {
  return ["--data", data ?? join(directory, "data"), ...flags];
}

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const directory = await temporaryDirectory();
  writeFileSync(clockIn(directory.path), "0");
  return new Gateway(await startGatewayServer(options, directory.path), options, directory);
}
