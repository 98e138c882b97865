/**
 * Secrets are planted wherever a caller or an agent can put text, and then looked for in everything that comes out and
 * in every file. Each planted secret holds a canary of its own, so that a leak names the place it came in by; around
 * it stand harmless words, which must come out, or the search would prove nothing.
 */

import assert from "node:assert/strict";
import { createHash, createPrivateKey } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { placeholder, type RedactedKind } from "../src/policy/redact/kinds.ts";
import { isThorough } from "./runner/seed.ts";
import { Client, isFinal, type Json, protocolVersion, userMessage } from "./support/client.ts";
import type { Slip } from "./support/redaction-agents-server.ts";
import { adminKey, startProcess, type TestProcess, temporaryDirectory } from "./support/server.ts";

const document: Json = JSON.parse(
  readFileSync(fileURLToPath(new URL("../docs/openapi.json", import.meta.url)), "utf8"),
);

// Secrets

const dashes = "-".repeat(5);

type TextKind = Exclude<RedactedKind, "secret">;

/** How a secret of each kind looks in a text, and what must be left of it. Put together so that no scanner of this repository takes them for real. */
const textKinds: Record<TextKind, (canary: string) => [secret: string, left: string]> = {
  private_key: (canary) => [
    [`${dashes}BEGIN PRIVATE KEY${dashes}`, canary, `${dashes}END PRIVATE KEY${dashes}`].join("\n"),
    placeholder("private_key"),
  ],
  bearer_token: (canary) => [`Bearer ${canary}`, `Bearer ${placeholder("bearer_token")}`],
  api_key: (canary) => [`sk-live-${canary}`, placeholder("api_key")],
  jwt: (canary) => [["eyJhbGciOiJIUzI1NiJ9", canary, "c2lnbmF0dXJl"].join("."), placeholder("jwt")],
  password: (canary) => [`password=${canary}`, `password=${placeholder("password")}`],
  url_credentials: (canary) => [
    `https://svc:${canary}@db.internal/app`,
    `https://svc:${placeholder("url_credentials")}@db.internal/app`,
  ],
  hidden_reasoning: (canary) => [
    `<think>${canary}</think>`,
    `<think>${placeholder("hidden_reasoning")}</think>`,
  ],
};
const kinds = Object.keys(textKinds) as TextKind[];

/** Of the kinds, for one place: one of them, another for the next place; `npm run fuzz` tries all everywhere. */
const kindsAtPlace = isThorough ? kinds.length : 1;
let kindsTaken = 0;
function someKinds(): TextKind[] {
  const taken = Array.from({ length: kindsAtPlace }, (_, n) => kinds[(kindsTaken + n) % kinds.length]);
  kindsTaken += kindsAtPlace;
  return taken.filter((kind) => kind !== undefined);
}

/** Names that announce a secret, and the kind that their values are taken for. */
const secretNames: Record<string, RedactedKind> = {
  password: "password",
  passwd: "password",
  secret: "secret",
  client_secret: "secret",
  apiKey: "api_key",
  "x-api-key": "api_key",
  access_token: "bearer_token",
  refreshToken: "bearer_token",
  token: "bearer_token",
  Authorization: "bearer_token",
  private_key: "private_key",
  cookie: "secret",
  reasoning_content: "hidden_reasoning",
  chain_of_thought: "hidden_reasoning",
  thinking: "hidden_reasoning",
};

/** Words about secrets, and things that look a little like them: none of it may change. */
const ordinary: readonly string[] = [
  "The password must have 12 characters; the secretary has the token ring manual.",
  "Bearer authentication is described at https://example.com/docs?topic=bearer#tokens.",
  "tokens used: 1234, max_tokens = 4096, token_count: 17",
  "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "01JZ6Y2ZKMB8H8DMXBGXR1FPGS 3f0c2a1e-5b7d-4c1e-9a55-0d6f1c2b3a4d",
  "const password = await ask('Password: '); if (!password) throw new Error('no password');",
  "mail me at someone@example.com, or see git@github.com:a/b.git",
  "I think, therefore <b>I</b> am; a < b > c; -----BEGIN CERTIFICATE----- is no key.",
  "-----\nA heading\n-----",
];

const canaryStart = "Q7zKv9Rt";
const canaryEnd = "pW3xH8nD2sLq";

interface Plant {
  id: string;
  place: string;
  kind: string;
  text: string;
  left: string;
}

interface PlantedJson {
  value: Json;
  left: Json;
  plants: Plant[];
}

/** Makes secrets and remembers where each was put. */
class Planter {
  readonly plants = new Map<string, Plant>();
  /** What must come out, less its secret. */
  readonly accepted = new Set<string>();

  canary(place: string, kind: string): { id: string; canary: string } {
    const id = this.plants.size.toString(36).padStart(4, "0");
    this.plants.set(id, { id, place, kind, text: "", left: "" });
    return { id, canary: `${canaryStart}${id}${canaryEnd}` };
  }

  text(place: string, kind: TextKind, name: string = kind): Plant {
    const { id, canary } = this.canary(place, name);
    const [secret, left] = textKinds[kind](canary);
    const plant = {
      id,
      place,
      kind: name,
      text: `lead-${id} ${secret} tail-${id}`,
      left: `lead-${id} ${left} tail-${id}`,
    };
    this.plants.set(id, plant);
    return plant;
  }

  /** One of each kind. */
  texts(place: string): { text: string } {
    return { text: kinds.map((kind) => this.text(place, kind).text).join("; ") };
  }

  json(place: string): PlantedJson {
    const named = Object.entries(secretNames).map(([name, kind]) => {
      const { canary } = this.canary(place, `${kind} under "${name}"`);
      return { name, canary, left: placeholder(kind) };
    });
    const inKeys = kinds.map((kind) => this.text(place, kind, `${kind} in a key`));
    const inValues = kinds.map((kind) => this.text(place, kind, `${kind} in a value`));
    const deep = this.text(place, "bearer_token", "bearer_token far down");
    const embedded = this.canary(place, "password in JSON in a text");
    const jwk = this.canary(place, "private half of a JWK");
    const thought = this.canary(place, "thought");
    const tag = `tag-${thought.id}`;
    const build = (isLeft: boolean): Json => ({
      plant: tag,
      ...Object.fromEntries(named.map(({ name, canary, left }) => [name, isLeft ? left : canary])),
      ...Object.fromEntries(inKeys.map(({ text, left }) => [isLeft ? left : text, "value"])),
      values: inValues.map(({ text, left }) => (isLeft ? left : text)),
      deep: nested(isLeft ? deep.left : deep.text, 40),
      "set-cookie": [isLeft ? placeholder("secret") : `sid=${named[0]?.canary}`],
      embedded: isLeft
        ? `{"db_password": "${placeholder("password")}", "port": 5432}`
        : `{"db_password": "${embedded.canary}", "port": 5432}`,
      jwk: {
        kty: "OKP",
        crv: "Ed25519",
        x: "public-half",
        d: isLeft ? placeholder("private_key") : jwk.canary,
      },
      thought: {
        type: "thinking",
        thinking: isLeft ? placeholder("hidden_reasoning") : thought.canary,
        signature: "s",
      },
      ordinary,
      count: 3,
      none: null,
      yes: true,
      empty: {},
    });
    const plants = [...inKeys, ...inValues, deep, this.#known(thought.id)];
    return { value: build(false), left: build(true), plants };
  }

  /** By the id of the plant that gave it its tag. */
  readonly jsonLeft = new Map<string, Json>();

  /** JSON whose remains are to be looked for as a whole. */
  trackedJson(place: string): PlantedJson {
    const planted = this.json(place);
    this.jsonLeft.set(planted.value.plant, planted.left);
    return planted;
  }

  accept(plants: readonly Plant[]): void {
    for (const { id } of plants) this.accepted.add(id);
  }

  nameOf(id: string): string {
    const plant = this.plants.get(id);
    return plant === undefined ? `unknown ${id}` : `${plant.place}: ${plant.kind}`;
  }

  #known(id: string): Plant {
    const plant = this.plants.get(id);
    assert.ok(plant);
    return plant;
  }
}

function nested(value: Json, levels: number): Json {
  return levels === 0 ? value : { level: [nested(value, levels - 1)] };
}

// Searching

/** How bytes look where they are written as they are, in base64 at any offset, or in hex. */
function formsOf(bytes: Buffer): { form: string; offset: number | null }[] {
  const base64 = [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    // Only the characters that depend on nothing beside the bytes.
    const form = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    const spellings = [form, form.replaceAll("+", "-").replaceAll("/", "_"), encodeURIComponent(form)];
    return spellings.map((each) => ({ form: each, offset }));
  });
  const plain = [bytes.toString("latin1"), bytes.toString("hex"), bytes.toString("hex").toUpperCase()];
  return [...plain.map((form) => ({ form, offset: null })), ...base64];
}

/** The names of what is found in a text. Bytes are given as Latin-1. */
type Find = (text: string) => Set<string>;

function findCanaries(planter: Planter): Find {
  const forms = formsOf(Buffer.from(canaryStart));
  const pattern = new RegExp(forms.map(({ form }) => form.replaceAll("+", "\\+")).join("|"), "g");
  return (text) => {
    const found = new Set<string>();
    for (const { 0: form, index } of text.matchAll(pattern)) {
      const offset = forms.find((each) => each.form === form)?.offset ?? null;
      const plain = offset === null ? text.slice(index, index + 64) : decoded(text, index, offset);
      const hex = Buffer.from(plain.slice(0, 24), "hex").toString();
      const id = /Q7zKv9Rt([0-9a-z]{4})/.exec(`${plain} ${hex}`)?.[1];
      found.add(id === undefined ? `cut off: ${text.slice(index, index + 40)}` : planter.nameOf(id));
    }
    return found;
  };
}

function decoded(text: string, index: number, offset: number): string {
  const start = index - Math.ceil((offset * 8) / 6);
  return Buffer.from(text.slice(start, start + 32), "base64").toString("latin1");
}

/** Exact values, under names that do not give them away. */
function findValues(secrets: Record<string, Buffer>): Find {
  const forms = Object.entries(secrets).map(([name, bytes]) => ({ name, forms: formsOf(bytes) }));
  return (text) =>
    new Set(
      forms.filter((each) => each.forms.some(({ form }) => text.includes(form))).map(({ name }) => name),
    );
}

/** Everything that was found, with where it was found. */
class Findings {
  readonly #places = new Map<string, Set<string>>();

  add(names: Iterable<string>, where: string): void {
    for (const name of names) this.#places.set(name, (this.#places.get(name) ?? new Set()).add(where));
  }

  /** A line for each place, with the kinds of secrets that came in there, and where they came out. */
  toString(): string {
    const lines = new Map<string, { kinds: Set<string>; outputs: Set<string> }>();
    for (const [name, outputs] of this.#places) {
      const [place = "", kind = ""] = name.split(": ");
      const line = lines.get(place) ?? { kinds: new Set(), outputs: new Set() };
      lines.set(place, line);
      line.kinds.add(kind);
      for (const output of outputs) line.outputs.add(output);
    }
    const words = (set: Set<string>) => [...set].sort().join(", ");
    return [...lines]
      .map(
        ([place, { kinds, outputs }]) =>
          `${place}${words(kinds) === "" ? "" : `: ${words(kinds)}`}; in ${words(outputs)}`,
      )
      .sort()
      .join("\n");
  }

  assertNone(): void {
    const found = this.toString();
    assert.ok(found === "", `found:\n${found}`);
  }
}

interface Send {
  method?: string;
  path: string;
  /** Sent as it is when it is text, as JSON otherwise. */
  body?: Json;
  headers?: Record<string, string>;
  key?: string | null;
  /** Ends a stream that does not end by itself. */
  until?: (text: string) => boolean;
}

interface Received {
  status: number;
  text: string;
  body: Json;
}

/** How long an endless stream may be silent when nothing says what it ends with: before its first piece, and after it. */
const silenceMs = { first: 3000, next: 300 };
const streamMsMax = 30_000;

/** Longer than any event of these tests is. */
const frameCharsMax = 100_000;

/** Sends requests, and looks at everything that comes back. */
class Watch {
  readonly answers = new Findings();
  readonly files = new Findings();
  readonly log = new Findings();
  readonly ids = new Map<string, Set<string>>();
  /** Called with every JSON value that is read back. */
  inspect: ((value: Json) => void) | null = null;
  requests = 0;
  /** Another one after the server was started again. */
  client: Client;
  find: Find;

  constructor(client: Client, find: Find) {
    this.client = client;
    this.find = find;
  }

  async send(where: string, { method, path, body, headers = {}, key, until }: Send): Promise<Received> {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const controller = new AbortController();
    const given = Object.fromEntries(Object.entries(headers).map(([name, v]) => [name.toLowerCase(), v]));
    const json = text === undefined ? {} : { "content-type": "application/json" };
    const response = await fetch(this.client.url + path, {
      method: method ?? (text === undefined ? "GET" : "POST"),
      headers: this.client.headers({ ...json, ...given }, key),
      signal: controller.signal,
      redirect: "manual",
      ...(text === undefined ? {} : { body: text }),
    });
    const bytes = await readAll(response, controller, until);
    this.requests += 1;
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const name = `${where} → ${response.status}`;
    this.answers.add(this.find(lines), `${name} (headers)`);
    this.answers.add(this.find(bytes.toString("latin1")), name);
    const answer = bytes.toString("utf8");
    const value = /^application\/json(?:;|$)/.test(response.headers.get("content-type") ?? "")
      ? JSON.parse(answer)
      : null;
    this.#collect(value);
    this.#show(response.headers.get("content-type") ?? "", answer, value);
    return { status: response.status, text: answer, body: value };
  }

  #show(type: string, text: string, value: Json): void {
    if (this.inspect === null) return;
    if (value !== null) this.inspect(value);
    else if (type.startsWith("text/event-stream")) {
      for (const [, data = ""] of text.matchAll(/^data: (.*)$/gm)) this.inspect(JSON.parse(data));
    } else if (type.startsWith("application/jsonl")) {
      for (const line of text.split("\n")) if (line !== "") this.inspect(JSON.parse(line));
    } else this.inspect(text);
  }

  #collect(value: Json): void {
    if (typeof value !== "object" || value === null) return;
    if (typeof value.object === "string" && typeof value.id === "string") this.know(value.object, value.id);
    if (typeof value.receipt_id === "string") this.know("receipt", value.receipt_id);
    if (typeof value.outcome_id === "string") this.know("outcome", value.outcome_id);
    for (const inner of Object.values(value)) this.#collect(inner);
  }

  know(object: string, id: string): void {
    this.ids.set(object, (this.ids.get(object) ?? new Set()).add(id));
  }

  scanFiles(directory: string, when: string): void {
    for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
      if (name === "admin.key" || name === "signing.key" || !statSync(join(directory, name)).isFile())
        continue;
      this.files.add(this.find(readFileSync(join(directory, name)).toString("latin1")), `${name} ${when}`);
    }
  }

  /** What stands across two pages of the file is in one piece here. */
  scanDatabase(file: string): void {
    for (const { table, value } of cells(file)) this.files.add(this.find(value), `table ${table}`);
  }

  scanLog(server: TestProcess): void {
    this.log.add(this.find(Buffer.from(server.output()).toString("latin1")), "the log");
  }
}

function* cells(file: string): Generator<{ table: string; value: string }> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables) {
      const rows = database.prepare(`SELECT * FROM "${name}"`);
      // The numbers of the search index are larger than JavaScript's.
      rows.setReadBigInts(true);
      for (const row of rows.iterate()) {
        for (const value of Object.values(row)) {
          if (typeof value !== "string" && !(value instanceof Uint8Array)) continue;
          yield { table: String(name), value: Buffer.from(value as string).toString("latin1") };
        }
      }
    }
  } finally {
    database.close();
  }
}

async function readAll(
  response: Response,
  controller: AbortController,
  until?: (text: string) => boolean,
): Promise<Buffer> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isStream) return Buffer.from(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let tail = "";
  // Without a sign of its end, a stream is over when it is silent.
  const end = () => controller.abort();
  let silence = setTimeout(end, until === undefined ? silenceMs.first : streamMsMax);
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      if (until === undefined) {
        clearTimeout(silence);
        silence = setTimeout(end, silenceMs.next);
      }
      tail = tail.slice(-frameCharsMax) + Buffer.from(chunk).toString("latin1");
      if (until?.(tail)) break;
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
  } finally {
    clearTimeout(silence);
    controller.abort();
  }
  return Buffer.concat(chunks);
}

const width = 8;

/** Runs them all, a few at a time. */
async function inParallel(jobs: readonly (() => Promise<unknown>)[]): Promise<void> {
  const waiting = jobs.values();
  const worker = async () => {
    for (const job of waiting) await job();
  };
  await Promise.all(Array.from({ length: width }, worker));
}

// The OpenAPI document, as a list of places for text

interface Operation {
  id: string;
  method: string;
  path: string;
  parameters: { in: string; name: string }[];
  schema: Json | null;
  isStream: boolean;
}

const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item as Json).map(([method, operation]: [string, Json]) => ({
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    parameters: operation.parameters ?? [],
    // Content that is sent as bytes is kept as it is; what is said about it is not.
    schema: operation.requestBody?.content["application/octet-stream"]
      ? null
      : ((Object.values(operation.requestBody?.content ?? {}) as Json[])[0]?.schema ?? null),
    isStream: Object.values(operation.responses).some((response: Json) =>
      Object.hasOwn(response.content ?? {}, "text/event-stream"),
    ),
  })),
);

/** A place for text in a body, and the body with something in that place. */
interface Spot {
  path: string;
  shape: "text" | "json" | "object" | "key";
  body(value: Json): Json;
}

function resolved(schema: Json): Json {
  return schema.$ref === undefined
    ? schema
    : document.components.schemas[schema.$ref.slice("#/components/schemas/".length)];
}

/** Every place in a body where text may stand, and where it may not: what is refused must not be repeated either. */
function* spotsOf(unresolved: Json, path: string, base: Json): Generator<Spot> {
  const schema = resolved(unresolved);
  if (schema.anyOf !== undefined) {
    for (const variant of schema.anyOf.map(resolved)) {
      if (variant.type === "null") continue;
      const name = variant.properties?.type?.const;
      yield* spotsOf(variant, name === undefined ? path : `${path}<${name}>`, sample(variant, base));
    }
    return;
  }
  if (Object.keys(schema).length === 0) {
    yield { path, shape: "json", body: (value) => value };
    return;
  }
  if (schema.type === "array") {
    for (const spot of spotsOf(schema.items, `${path}[]`, base?.[0] ?? sample(schema.items))) {
      yield { ...spot, body: (value) => [spot.body(value)] };
    }
    return;
  }
  if (schema.type !== "object") {
    yield { path, shape: "text", body: (value) => value };
    return;
  }
  const record = schema.patternProperties?.["^.*$"];
  if (record !== undefined && Object.keys(record).length === 0) {
    yield { path, shape: "object", body: (value) => value };
  } else if (record !== undefined) {
    yield {
      path: `${path}.*`,
      shape: "key",
      body: (value) => ({ ...base, [value]: Object.values(base ?? {})[0] }),
    };
    yield { path: `${path}.* (no object)`, shape: "key", body: (value) => ({ ...base, [value]: 5 }) };
    for (const [key, inner] of Object.entries(base ?? {})) yield* memberSpots(record, path, base, key, inner);
  }
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    yield* memberSpots(inner, path, base, key, base?.[key] ?? sample(inner));
  }
}

function* memberSpots(schema: Json, path: string, base: Json, key: string, inner: Json): Generator<Spot> {
  for (const spot of spotsOf(schema, `${path}.${key}`, inner)) {
    yield { ...spot, body: (value) => ({ ...base, [key]: spot.body(value) }) };
  }
}

/** The least that a schema takes; what the given value has of it stays. */
function sample(unresolved: Json, given: Json = undefined): Json {
  const schema = resolved(unresolved);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0], given);
  if (schema.type === "array") return [sample(schema.items)];
  if (schema.type === "integer") return schema.minimum ?? 0;
  if (schema.type === "boolean") return false;
  if (schema.type !== "object") return given ?? "text";
  const names: string[] = schema.required ?? [];
  return Object.fromEntries(
    names.map((name) => {
      const inner = schema.properties[name];
      return [name, resolved(inner).const ?? given?.[name] ?? sample(inner)];
    }),
  );
}

// A server with something of everything, and the requests that plant

interface World {
  client: Client;
  /** An id for each path parameter. */
  ids: Record<string, string>;
  receipt: Json;
}

async function createWorld(client: Client): Promise<World> {
  const session = await client.createSession({ initial_messages: [userMessage("Hello.")] });
  const task = await client.rehearse(session.id, "step work", "artifact notes.txt words", "checkpoint here");
  const waiting = await client.rehearse(session.id, "approve Launch it");
  const artifacts = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
  const messages = await client.listAll(`/v1/sessions/${session.id}/messages`);
  const branch = await client.post(`/v1/sessions/${session.id}/branches`, {
    kind: "session",
    base_ref: "main",
  });
  const key = await client.createKey({ scopes: ["tasks:read"] });
  const vault = await client.post("/v1/vaults", vaultBody);
  const receipt = (await client.get(`/v1/receipts/${task.receipt_id}`)).body;
  const memory = await client.createMemory({ content: "words" });
  const skill = await client.post("/v1/skills", { name: "name", description: "words" });
  return {
    client,
    ids: {
      workspace_id: "workspace_default",
      persona_id: "persona_rehearsal",
      session_id: session.id,
      branch_id: branch.body.id,
      message_id: messages[0].id,
      task_id: task.id,
      request_id: waiting.waiting_for.permission_request_id,
      outcome_id: task.outcome_id,
      artifact_id: artifacts[0].id,
      receipt_id: task.receipt_id,
      event_id: session.last_event_id,
      key_id: key.id,
      memory_id: memory.id,
      skill_id: skill.body.id,
      tool_id: "unknown",
      agent_name: "echo",
      connector_id: (await client.createConnector()).id,
      vault_id: vault.body.id,
      secret_name: "NAME",
    },
    receipt,
  };
}

interface Target {
  params?: Record<string, string>;
  /** Called with this one instead of the administrator's key. */
  key?: string;
  body?: Json;
}

const vaultBody = { provider: "local", capabilities: ["read", "write", "delete"] };
const message = { role: "user", parts: [{ type: "text", text: "words", visibility: "public" }] };

const persona = {
  name: "name",
  version: "1.0.0",
  entry_workflow: "echo",
  description: "description",
  autonomy_tier: "act_auto",
  receipt_policy: "required",
};
const quota = { scope: "persona", limits: { tasks: 1000 } };

/** What each operation needs to be carried out: a body, and something of its own where it uses things up. */
const targets: Record<string, (world: World) => Promise<Target> | Target> = {
  createWorkspace: () => ({ body: { name: "name", root: "/root" } }),
  async updateWorkspace({ client }) {
    const { body } = await client.post("/v1/workspaces", { name: "mine", root: "/root" });
    return { params: { workspace_id: body.id }, body: {} };
  },
  createPersona: () => ({ body: { ...persona } }),
  async updatePersona({ client }) {
    const { body } = await client.post("/v1/personas", persona);
    return { params: { persona_id: body.id }, body: {} };
  },
  createQuota: () => ({ body: { ...quota } }),
  async updateQuota({ client }) {
    const { body } = await client.post("/v1/quotas", quota);
    return { params: { quota_id: body.id }, body: {} };
  },
  async deleteQuota({ client }) {
    const { body } = await client.post("/v1/quotas", quota);
    return { params: { quota_id: body.id } };
  },
  createSession: () => ({ body: { workspace_id: "workspace_default", initial_messages: [message] } }),
  updateSession: async ({ client }) => ({
    params: { session_id: (await client.createSession()).id },
    body: {},
  }),
  closeSession: async ({ client }) => ({ params: { session_id: (await client.createSession()).id } }),
  forkSession: () => ({ body: {} }),
  async truncateSession({ client }) {
    const session = await client.createSession({ initial_messages: [message] });
    return { params: { session_id: session.id }, body: { keep_first: 0 } };
  },
  async compactSession({ client }) {
    const session = await client.createSession({ initial_messages: [message] });
    return { params: { session_id: session.id }, body: { keep_last: 0 } };
  },
  async eraseSession({ client }) {
    const session = await client.createSession({ initial_messages: [message] });
    return { params: { session_id: session.id }, body: {} };
  },
  sweepRetention: () => ({ body: { dry_run: true } }),
  eraseTenant: () => ({ params: { tenant_id: "tenant_nobody" }, body: {} }),
  createSessionBranch: () => ({ body: { kind: "session", base_ref: "main" } }),
  appendSessionMessage: () => ({ body: { message } }),
  submitTask: ({ ids }) => ({ body: { session_id: ids.session_id, input: message } }),
  chatInSession: () => ({ body: { messages: [{ role: "user", parts: [{ type: "text", text: "x" }] }] } }),
  submitSessionTask: () => ({ body: { input: message } }),
  async cancelTask({ client, ids }) {
    const task = await client.submit(String(ids.session_id), "sleep 600000", {
      persona_id: "persona_rehearsal",
    });
    return { params: { task_id: task.id }, body: {} };
  },
  async signalTask({ client, ids }) {
    const task = await client.submit(String(ids.session_id), "sleep 600000", {
      persona_id: "persona_rehearsal",
    });
    return { params: { task_id: task.id }, body: { name: "paid", payload: { by: "me" } } };
  },
  async retryTask({ client, ids }) {
    const task = await client.submit(String(ids.session_id), "sleep 600000", {
      persona_id: "persona_rehearsal",
    });
    await client.post(`/v1/tasks/${task.id}/cancel`);
    return { params: { task_id: task.id }, body: {} };
  },
  replayTask: () => ({
    body: {
      mode: "with_overrides",
      override: { "step:work:1": { kind: "tool_result", value: "other" } },
      metadata: { allow_live: [] },
    },
  }),
  async appendTaskMessage({ client, ids }) {
    const task = await client.rehearse(String(ids.session_id), "ask Go on?");
    return { params: { task_id: task.id }, body: { kind: "interrupt", message } };
  },
  async respondPermissionRequest({ client, ids }) {
    const task = await client.rehearse(String(ids.session_id), "approve Launch it");
    return { params: { request_id: task.waiting_for.permission_request_id }, body: { approved: false } };
  },
  registerArtifact: () => ({ body: { kind: "file", mime_type: "text/plain", visibility: "public" } }),
  uploadArtifact: () => ({ body: '"words"' }),
  writeWorkspaceFile: () => ({ body: { path: "notes/words.txt", content: "words" } }),
  createVault: () => ({ body: vaultBody }),
  rotateVault: () => ({}),
  rotateMasterKey: () => ({}),
  async setSecret({ client }) {
    const { body } = await client.post("/v1/vaults", vaultBody);
    return { params: { vault_id: body.id }, body: { value: "words" } };
  },
  async deleteSecret({ client, ids }) {
    const path = `/v1/vaults/${ids.vault_id}/secrets/GONE`;
    await client.call(path, { method: "PUT", body: { value: "words" } });
    return { params: { secret_name: "GONE" } };
  },
  verifyReceipt: () => ({ body: {} }),
  requestReceipt: ({ ids }) => ({ body: { subject: { object: "artifact", id: ids.artifact_id } } }),
  verifyForeignReceipt: ({ receipt }) => ({ body: { receipt } }),
  createWsTicket: () => ({}),
  rotateSigningKey: () => ({}),
  importSession: () => ({ body: "" }),
  replaySession: () => ({}),
  updateBranch: () => ({ body: {} }),
  async mergeBranch({ client, ids }) {
    const session = await client.createSession();
    return {
      params: { branch_id: await newBranch(client, ids) },
      body: { into_branch_id: session.branch_id },
    };
  },
  abandonBranch: async ({ client, ids }) => ({
    params: { branch_id: await newBranch(client, ids) },
    body: {},
  }),
  createMemory: () => ({
    body: {
      scope: "workspace",
      owner_id: "workspace_default",
      content: "words",
      provenance: {},
    },
  }),
  deleteMemory: async ({ client }) => ({
    params: { memory_id: (await client.createMemory({ content: "words" })).id },
  }),
  createSkill: () => ({ body: { name: "name", description: "words" } }),
  updateSkill: () => ({ body: {} }),
  async deleteSkill({ client }) {
    const { body } = await client.post("/v1/skills", { name: "name", description: "words" });
    return { params: { skill_id: body.id } };
  },
  createConnector: () => ({ body: { provider: "webhook", workspace_id: "workspace_default" } }),
  updateConnector: () => ({ body: {} }),
  deleteConnector: async ({ client }) => ({
    params: { connector_id: (await client.createConnector()).id },
  }),
  // Nobody here can sign, so all of it is refused; what is signed is planted in a test of its own.
  deliverToConnector: () => ({ body: { type: "words" } }),
  // Nothing waits for approvers.
  withdrawPersonaChange: () => ({}),
  beginPairing: () => ({ body: {} }),
  // Nobody has come to be confirmed.
  confirmPairing: async ({ client }) => ({
    params: { nonce: (await client.post("/v1/approvals/pairings", {})).body.nonce ?? "pn-none" },
    body: { fingerprint: "0".repeat(64) },
  }),
  revokeApprover: () => ({ params: { signer_key_id: "A".repeat(43) } }),
  createApiKey: () => ({ body: { name: "name", actor: "actor", scopes: ["tasks:read"] } }),
  rotateApiKey: async ({ client }) => ({ params: { key_id: (await client.createKey()).id }, body: {} }),
  revokeApiKey: async ({ client }) => ({ params: { key_id: (await client.createKey()).id } }),
  // The key was set, so it is not rotated.
  rotateAdminKey: () => ({}),
  // Refused, because everything here is called with the administrator's key.
  async disableAdminKey({ client }) {
    const { key } = await client.createKey({ workspace_ids: ["workspace_default"] });
    return { key };
  },
  enableAdminKey: () => ({}),
};

async function newBranch(client: Client, ids: World["ids"]): Promise<string> {
  const { body } = await client.post(`/v1/sessions/${ids.session_id}/branches`, {
    kind: "sandbox",
    base_ref: "main",
  });
  return body.id;
}

/** Accepted and then not looked at, so that nothing of it comes out. */
const unread: readonly RegExp[] = [
  /^replayTask body\.override\.step:work:1\.target/,
  /^replayTask body\.override\.step:work:1\.(?:value|visibility)/,
  /^replayTask body\.checkpoint_/,
  /^retryTask body\.from_step/,
  // The client's own ids and notes; the server keeps the transcript.
  /^chatInSession body\.(?:id|messageId|messages\[\]\.(?:id|metadata))/,
  /^verify(?:Foreign)?Receipt /,
  /^setSecret body\.value/,
  // Shown to the approver, by the gateway.
  /^beginPairing body\.workspace_name/,
];

/** A caller's own file, which is given back as it was sent. */
const verbatim = /^writeWorkspaceFile body\.content/;

function pathOf({ path }: Operation, world: World, params: Record<string, string> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? world.ids[name] ?? "missing");
}

async function targetOf(operation: Operation, world: World): Promise<Target> {
  if (operation.method === "GET") return {};
  const target = targets[operation.id];
  assert.ok(target, `${operation.id} is new: say how it is called, so that its body can be planted with`);
  return await target(world);
}

type Job = () => Promise<void>;

/** Plants in bodies, place by place. */
function bodyJobs(watch: Watch, planter: Planter, world: World, operation: Operation, base: Json): Job[] {
  const media = operation.id === "importSession" ? { "content-type": "application/jsonl" } : undefined;
  const submit = async (place: string, body: Json, plants: readonly Plant[]) => {
    const { params } = await targetOf(operation, world);
    const { status } = await watch.send(`${operation.method} ${operation.path}`, {
      method: operation.method,
      path: pathOf(operation, world, params),
      body,
      ...(media === undefined ? {} : { headers: media }),
    });
    assert.ok(status < 500, `${place}: ${status}`);
    if (status < 300 && !unread.some((pattern) => pattern.test(place))) planter.accept(plants);
  };
  return [...spotsOf(operation.schema, "body", base)].flatMap((spot): Job[] => {
    const place = `${operation.id} ${spot.path}`;
    if (verbatim.test(place)) return [];
    const texts = someKinds().map((kind) => async () => {
      const plant = planter.text(place, kind);
      await submit(place, spot.body(plant.text), [plant]);
    });
    if (spot.shape === "text" || spot.shape === "key") return texts;
    const json = async () => {
      const planted = planter.trackedJson(place);
      await submit(place, spot.body(planted.value), planted.plants);
    };
    return [json, ...texts];
  });
}

/** Plants in the configs of webhooks, one after the other: a task has room for a few only. */
async function webhookJobs(watch: Watch, planter: Planter, client: Client): Promise<Job[]> {
  const session = await client.createSession();
  const { id } = await client.rehearse(session.id, "ask Go on?");
  const path = `/opvs/rest/tasks/${id}/pushNotificationConfigs`;
  const headers = { "a2a-version": "1.0" };
  const hook = "https://hook.invalid/";
  const spots: Record<string, (text: string) => Json> = {
    token: (token) => ({ url: hook, token }),
    credentials: (credentials) => ({ url: hook, authentication: { scheme: "Bearer", credentials } }),
    scheme: (scheme) => ({ url: hook, authentication: { scheme, credentials: "words" } }),
    id: (given) => ({ url: hook, id: given }),
    "url that is refused": (text) => ({ url: `http://hook.invalid/?q=${encodeURIComponent(text)}` }),
  };
  const plant = async (spot: string, kind: TextKind) => {
    const { text } = planter.text(`webhook ${spot}`, kind);
    const body = spots[spot]?.(oneLine(text));
    const answer = await watch.send(`POST ${path}`, { method: "POST", path, body, headers });
    if (answer.status === 201)
      await watch.send(`DELETE ${path}`, { method: "DELETE", path: `${path}/${answer.body.id}`, headers });
    const isSecret = spot === "token" || spot === "credentials";
    assert.equal(answer.status, isSecret ? 201 : 400, `${spot}: ${answer.text}`);
  };
  return [
    async () => {
      for (const spot of Object.keys(spots)) for (const kind of someKinds()) await plant(spot, kind);
    },
  ];
}

/** In a path, a query and a header there are no line breaks. */
function oneLine(text: string): string {
  return text.replaceAll("\n", "\\n");
}

const requestHeaders = ["Last-Event-ID", "Prefer", "Accept", "X-Unknown", "User-Agent", "X-Request-Id"];

/** Plants in the parameters that the document lists, and in headers. */
function parameterJobs(watch: Watch, planter: Planter, world: World, operation: Operation): Job[] {
  const where = `${operation.method} ${operation.path}`;
  const call = async (
    send: Partial<Send>,
    given: { params?: Record<string, string>; query?: string } = {},
  ) => {
    const { params, body, key } = await targetOf(operation, world);
    const media = operation.id === "importSession" ? { "content-type": "application/jsonl" } : {};
    await watch.send(where, {
      method: operation.method,
      path: pathOf(operation, world, { ...params, ...given.params }) + (given.query ?? ""),
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
      ...send,
      headers: { ...media, ...send.headers },
    });
  };
  const listed = operation.parameters.flatMap((parameter) =>
    someKinds().map((kind) => async () => {
      const { text } = planter.text(`${operation.id} ${parameter.in} ${parameter.name}`, kind);
      if (parameter.in === "header") return await call({ headers: { [parameter.name]: oneLine(text) } });
      const written = encodeURIComponent(text);
      if (parameter.in === "path") return await call({}, { params: { [parameter.name]: written } });
      return await call({}, { query: `?${parameter.name}=${written}` });
    }),
  );
  const others = requestHeaders.map((name, index) => async () => {
    const kind = kinds[index % kinds.length] ?? "password";
    const { text } = planter.text(`${operation.id} header ${name}`, kind);
    await call({ headers: { [name]: oneLine(text) } });
  });
  const wrongKeys = ["Bearer", "Basic", "Token"].map((scheme) => async () => {
    const { canary } = planter.canary(`${operation.id} header Authorization`, scheme);
    await call({ headers: { authorization: `${scheme} ${canary}` }, key: null });
  });
  return [...listed, ...others, ...wrongKeys];
}

/** Bodies that are no bodies. */
function brokenJobs(watch: Watch, planter: Planter, world: World, operation: Operation): Job[] {
  const where = `${operation.method} ${operation.path}`;
  const send = async (body: string, headers: Record<string, string> = {}) => {
    // Some are no worse than an empty body: what is erased by it must be the target's own.
    const { params } = await targetOf(operation, world);
    const path = pathOf(operation, world, params);
    return await watch.send(where, { method: operation.method, path, body, headers });
  };
  const plant = (how: string, kind: TextKind) => planter.text(`${operation.id} ${how}`, kind).text;
  return someKinds().flatMap((kind) => [
    async () => void (await send(plant("body that is no JSON", kind))),
    async () => void (await send(`{"${plant("body that is cut off", kind).replaceAll("\n", "\\n")}": "`)),
    async () => {
      const name = JSON.stringify(plant("body that says a thing twice", kind));
      await send(`{"receipt": {${name}: 1, ${name}: 2}, ${name}: 1, ${name}: 2}`);
    },
    async () => void (await send(JSON.stringify([plant("body that is a list", kind)]))),
    async () => void (await send(plant("body as text", kind), { "content-type": "text/plain" })),
    async () =>
      void (await send("{}", { "content-type": `application/${oneLine(plant("media type", kind))}` })),
    async () =>
      void (await send("{}", {
        "content-type": `application/json; charset="${oneLine(plant("charset", kind))}"`,
      })),
  ]);
}

/** Addresses where nothing is, methods that nobody offers, and what is no HTTP at all. */
function strayJobs(watch: Watch, planter: Planter): Job[] {
  const written: [string, (text: string) => string][] = [
    ["encoded", encodeURIComponent],
    // What a browser leaves as it is.
    [
      "as typed",
      (text) => oneLine(text).replaceAll(" ", "%20").replaceAll("<", "%3C").replaceAll(">", "%3E"),
    ],
  ];
  const addresses = written.flatMap(([how, write]) =>
    someKinds().flatMap((kind) => [
      async () => {
        const { text } = planter.text(`unknown address, ${how}`, kind);
        await watch.send("GET an unknown address", { path: `/v1/nothing/${write(text)}` });
      },
      async () => {
        const { text } = planter.text(`unknown method, ${how}`, kind);
        await watch.send("PUT a known address", {
          method: "PUT",
          path: `/v1/sessions/${write(text)}`,
          body: {},
        });
      },
      async () => {
        const { text } = planter.text(`unknown query, ${how}`, kind);
        await watch.send("GET with an unknown query", { path: `/v1/sessions?unknown=${write(text)}` });
      },
      async () => {
        const { text } = planter.text(`query without a key, ${how}`, kind);
        await watch.send("GET without a key", { path: `/v1/nothing?x=${write(text)}`, key: null });
      },
    ]),
  );
  const tooLong = someKinds().map((kind) => async () => {
    const { text } = planter.text("id that is too long", kind);
    const path = `/v1/sessions/${encodeURIComponent(text)}${"x".repeat(300)}`;
    await watch.send("GET an id that is too long", { path });
  });
  const badEscape = someKinds().map((kind) => async () => {
    const { text } = planter.text("address with a bad escape", kind);
    await watch.send("GET a bad escape", { path: `/v1/sessions/%zz${encodeURIComponent(text)}` });
  });
  const tooLarge = someKinds().map((kind) => async () => {
    const { text } = planter.text("body that is too large", kind);
    const body = JSON.stringify({ workspace_id: text, metadata: { text: "x".repeat(5 * 1024 * 1024) } });
    await watch.send("POST /v1/sessions", { path: "/v1/sessions", body });
  });
  const noHttp = someKinds().map((kind) => async () => {
    const { text } = planter.text("what is no HTTP", kind);
    const answer = await speak(watch.client.url, `GET /${oneLine(text)} HTTP/9.9\r\n${text}\r\n\r\n`);
    watch.answers.add(watch.find(answer), "what is no HTTP");
  });
  const hosts = someKinds().map((kind) => async () => {
    const { text } = planter.text("header Host", kind);
    const host = oneLine(text).replaceAll(" ", "");
    const answer = await speak(
      watch.client.url,
      `GET /v1/agent-card HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    watch.answers.add(watch.find(answer), "GET /v1/agent-card");
  });
  return [...addresses, ...tooLong, ...badEscape, ...tooLarge, ...noHttp, ...hosts];
}

function speak(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.end(text));
    let answer = "";
    socket.on("data", (data) => {
      answer += data.toString("latin1");
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", (error) => ("code" in error && error.code === "ECONNRESET" ? null : reject(error)));
  });
}

/** A receipt with something else in each of its texts. */
function receiptJobs(watch: Watch, planter: Planter, { receipt, ids }: World): Job[] {
  const [first = "password"] = kinds;
  const leaves = [...textsIn(receipt)];
  const changed = leaves.flatMap(({ path, put }, index) =>
    [kinds[index % kinds.length] ?? first, kinds[(index + 3) % kinds.length] ?? first].map(
      (kind) => async () => {
        const { text } = planter.text(`foreign receipt ${path}`, kind);
        await watch.send("POST /v1/receipts/verify", { path: "/v1/receipts/verify", body: put(text) });
      },
    ),
  );
  const keySets = someKinds().map((kind) => async () => {
    const { text } = planter.text("key set of a foreign receipt", kind);
    const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", kid: text, x: text, alg: text }] };
    await watch.send("POST /v1/receipts/verify", { path: "/v1/receipts/verify", body: { receipt, jwks } });
  });
  const anchors = someKinds().map((kind) => async () => {
    const plant = planter.text("trust anchor under an Idempotency-Key", kind);
    await watch.send("POST /v1/receipts/{receipt_id}/verify", {
      path: `/v1/receipts/${ids.receipt_id}/verify`,
      body: { trust_anchor: plant.text },
      headers: { "Idempotency-Key": `anchor-${plant.id}` },
    });
  });
  return [...changed, ...keySets, ...anchors];
}

/** Each text in a value, and the value with something else in its place. */
function* textsIn(value: Json, path = ""): Generator<{ path: string; put(text: string): Json }> {
  if (typeof value === "string") yield { path, put: (text) => text };
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    for (const { path: within, put } of textsIn(inner, `${path}/${key}`)) {
      const copy = (text: string) =>
        Object.assign(Array.isArray(value) ? [] : {}, value, { [key]: put(text) });
      yield { path: within, put: copy };
    }
  }
}

/** Logs of another server that hold what this one would have taken out. */
async function importJobs(watch: Watch, planter: Planter, { client }: World): Promise<Job[]> {
  const session = await client.createSession({
    metadata: { note: "HERE-1" },
    initial_messages: [
      { ...userMessage("HERE-2"), metadata: { note: "HERE-3" } },
      userMessage(`${filler}HERE-4`),
    ],
  });
  const { text: file } = await watch.send("GET /v1/sessions/{session_id}/export", {
    path: `/v1/sessions/${session.id}/export`,
  });
  const messages = await client.listAll(`/v1/sessions/${session.id}/messages`);
  const ids: string[] = [session.id, ...messages.map(({ id }) => id)];
  const ofBlob = file.split("\n").find((line) => line.startsWith('{"blob"'));
  assert.ok(ofBlob, "a large message is content of its own");
  const { sha256, base64 } = JSON.parse(ofBlob).blob;
  const content = Buffer.from(base64, "base64").toString();

  /** The file under ids of its own. */
  const copyFor = (plant: Plant) =>
    ids.reduce(
      (text, id, index) => text.replaceAll(id, `${id.slice(0, -5)}${index}${plant.id.toUpperCase()}`),
      file,
    );
  const withBlob = (text: string, changed: string) => {
    const bytes = Buffer.from(changed);
    return text
      .replaceAll(base64, bytes.toString("base64"))
      .replaceAll(sha256, createHash("sha256").update(bytes).digest("hex"))
      .replaceAll(`"bytes":${Buffer.byteLength(content)}`, `"bytes":${bytes.length}`);
  };
  /** Given the file and a text as it looks in JSON. */
  const edits: Record<string, (file: string, text: string, plant: Plant) => string> = {
    "the session's metadata": (copy, text) => copy.replaceAll("HERE-1", text),
    "a message": (copy, text) => copy.replaceAll("HERE-2", text),
    "a message's metadata": (copy, text) => copy.replaceAll("HERE-3", text),
    "a large message": (copy, text) => withBlob(copy, content.replace("HERE-4", text)),
    "the actor": (copy, text) => copy.replaceAll('"actor":"admin"', `"actor":"${text}"`),
    "the workspace": (copy, text, plant) =>
      copy
        .replaceAll("workspace_default", `workspace_${plant.id}`)
        .replace(/"name":"[^"]*"/, () => `"name":"${text}"`),
    "the tenant": (copy, text) => copy.replaceAll("tenant_default", text),
    "the session's id": (copy, text) => copy.replaceAll(/session_[0-9A-Z]{26}/g, () => text),
    "a message's id": (copy, text) => copy.replaceAll(/msg_[0-9A-Z]{26}/g, () => text),
    "an event's name": (copy, text) => copy.replace('"event":"session.created"', `"event":"${text}"`),
    "a role": (copy, text) => copy.replaceAll('"role":"user"', `"role":"${text}"`),
    "a line that is none": (copy, text) => copy.replace("\n", `\n${text}\n`),
    "a hash": (copy, text) => copy.replace(`{"blob":{"sha256":"${sha256}"`, `{"blob":{"sha256":"${text}"`),
  };
  return Object.entries(edits).flatMap(([name, edit]) =>
    someKinds().map((kind) => async () => {
      const plant = planter.text(`imported log, ${name}`, kind);
      const { status } = await watch.send("POST /v1/sessions/import", {
        path: "/v1/sessions/import",
        body: edit(copyFor(plant), inJson(plant.text), plant),
        headers: { "content-type": "application/jsonl" },
      });
      if (status < 300) planter.accept([plant]);
    }),
  );
}

/** As it looks between the quotes of JSON. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** What the document cannot tell: conversations with tasks, replays of all modes, what is large. */
function storyJobs(watch: Watch, planter: Planter, { client, ids }: World): Job[] {
  const sessionId = String(ids.session_id);
  const post = (where: string, path: string, body: Json, headers: Record<string, string> = {}) =>
    watch.send(`POST ${where}`, { path, body, headers });
  const rehearse = async (script: string) =>
    await post(
      "/v1/tasks",
      "/v1/tasks",
      { session_id: sessionId, persona_id: "persona_rehearsal", input: userMessage(script) },
      { prefer: "wait=30" },
    );
  const words = ["say", "ask", "approve", "artifact", "step", "checkpoint", "fail", "reject", "return"];
  const scripts = words.flatMap((word) =>
    someKinds().map((kind) => async () => {
      const plant = planter.text(`rehearsal: ${word}`, kind);
      // A script has one instruction a line.
      await rehearse(`${word} ${oneLine(plant.text)}`);
      planter.accept([plant]);
    }),
  );
  const misunderstood = someKinds().map((kind) => async () => {
    const plant = planter.text("rehearsal: unknown instruction", kind);
    await rehearse(oneLine(plant.text));
    await rehearse(`stream ${oneLine(plant.text)}`);
    planter.accept([plant]);
  });
  const answers = someKinds().flatMap((kind) => [
    async () => {
      const plant = planter.text("answer to a question", kind);
      const task = await client.rehearse(sessionId, "ask What is it?");
      const path = `/v1/tasks/${task.id}/messages`;
      await post("/v1/tasks/{task_id}/messages", path, { kind: "input", message: userMessage(plant.text) });
      planter.accept([plant]);
    },
    async () => {
      const [reason, beside] = [planter.text("confirmation: reason", kind), planter.text("beside it", kind)];
      const task = await client.rehearse(sessionId, "approve Launch it");
      const value = { approved: false, reason: reason.text, beside: beside.text };
      const parts = [{ type: "json", value, visibility: "public" }];
      await post("/v1/tasks/{task_id}/messages", `/v1/tasks/${task.id}/messages`, {
        kind: "tool_confirmation",
        message: { role: "user", parts },
      });
      planter.accept([reason, beside]);
    },
    async () => {
      const plant = planter.text("answer that answers nothing", kind);
      const path = `/v1/tasks/${ids.task_id}/messages`;
      await post("/v1/tasks/{task_id}/messages", path, { kind: "input", message: userMessage(plant.text) });
    },
  ]);
  const replays = someKinds().flatMap((kind) => {
    const replay = (how: string, body: (text: string) => Json) => async () => {
      const plant = planter.text(`replay: ${how}`, kind);
      await post("/v1/tasks/{task_id}/replay", `/v1/tasks/${ids.task_id}/replay`, body(plant.text), {
        prefer: "wait=30",
      });
    };
    return [
      replay("checkpoint_id", (text) => ({ mode: "from_checkpoint", checkpoint_id: text })),
      replay("checkpoint_event_id", (text) => ({ mode: "from_checkpoint", checkpoint_event_id: text })),
      replay("key of an override", (text) => ({
        mode: "with_overrides",
        override: { [`step:${text}:1`]: { kind: "tool_result", value: 1 } },
      })),
      replay("value", (text) => ({
        mode: "with_overrides",
        override: {
          "step:work": {
            kind: "tool_result",
            value: { [text]: text },
            reason: text,
            visibility: "public",
          },
        },
        reason: text,
      })),
      replay("lifecycle time", (text) => ({
        mode: "with_overrides",
        override: { "time:completed_at": { kind: "time", value: text } },
      })),
    ];
  });
  const large = someKinds().map((kind) => async () => {
    const plants = ["message", "payload", "metadata"].map((what) => planter.text(`large ${what}`, kind));
    const [inMessage, inPayload, inMetadata] = plants.map(({ text }) => filler + text);
    await post("/v1/tasks", "/v1/tasks", { session_id: sessionId, input: userMessage(String(inMessage)) });
    await post("/v1/tasks", "/v1/tasks", { session_id: sessionId, input: { list: [inPayload] } });
    await post("/v1/sessions", "/v1/sessions", {
      workspace_id: "workspace_default",
      metadata: { note: inMetadata },
    });
    planter.accept(plants);
  });
  const repeated = someKinds().map((kind) => async () => {
    const plant = planter.text("repeated under an Idempotency-Key", kind);
    const body = { workspace_id: "workspace_default", metadata: { note: plant.text } };
    const headers = { "Idempotency-Key": `lead ${oneLine(plant.text)}` };
    for (const sent of [body, body, { ...body, metadata: { note: `other ${plant.text}` } }]) {
      await post("/v1/sessions", "/v1/sessions", sent, headers);
    }
    planter.accept([plant]);
  });
  const byAnother = someKinds().map((kind) => async () => {
    const plant = planter.text("actor of a key", kind);
    const key = await client.createKey({ actor: oneLine(plant.text), name: plant.text });
    const session = await watch.send("POST /v1/sessions", {
      path: "/v1/sessions",
      body: { workspace_id: "workspace_default" },
      key: key.key,
    });
    await watch.send("POST /v1/tasks", {
      path: "/v1/tasks",
      body: { session_id: session.body.id, input: { text: "hello" } },
      key: key.key,
    });
    planter.accept([plant]);
  });
  return [...scripts, ...misunderstood, ...answers, ...replays, ...large, ...repeated, ...byAnother];
}

const filler = "Ordinary words that fill the page. ".repeat(200);

// Reading everything

const objectOf: Record<string, string> = {
  workspace_id: "workspace",
  persona_id: "persona",
  quota_id: "quota",
  session_id: "session",
  branch_id: "branch",
  message_id: "message",
  task_id: "task",
  outcome_id: "outcome",
  request_id: "permission_request",
  artifact_id: "artifact",
  receipt_id: "receipt",
  event_id: "event",
  key_id: "api_key",
  vault_id: "vault",
  memory_id: "memory",
  skill_id: "skill",
  tool_id: "tool",
  agent_name: "agent",
  connector_id: "connector",
  nonce: "pairing",
};
/** There only where a test makes them. */
const notEverywhere: ReadonlySet<string> = new Set([
  "quota",
  "memory",
  "tool",
  "connector",
  "pairing",
  "permission_request",
]);
/** Of what lists show as well, one in so many is read and streamed by itself; `npm run fuzz` takes more. */
const oneIn = { event: 20, other: isThorough ? 1 : 5 };

/** Every GET of the document, to the last page and the last event: every list, and some of what lists show by itself. */
async function readEverything(watch: Watch): Promise<void> {
  const gets = operations.filter(({ method }) => method === "GET");
  // Lists first: they tell what there is.
  const order = [null, "session_id", "task_id", "workspace_id"];
  const rank = ({ path }: Operation) => {
    const at = order.indexOf(paramOf(path));
    return at === -1 ? order.length : at;
  };
  for (const operation of gets.toSorted((a, b) => rank(a) - rank(b))) {
    await inParallel(idsFor(watch, operation).map((id) => () => readOne(watch, operation, id)));
  }
  await inParallel(
    [...(watch.ids.get("receipt") ?? [])].map((id) => async () => {
      const accept = "application/vnd.harn.receipt+cbor";
      await watch.send("a receipt as CBOR", { path: `/v1/receipts/${id}`, headers: { accept } });
    }),
  );
}

function paramOf(path: string): string | null {
  return /\{(\w+)\}/.exec(path)?.[1] ?? null;
}

function isList({ parameters }: Operation): boolean {
  return parameters.some(({ name }) => name === "cursor");
}

function idsFor(watch: Watch, operation: Operation): (string | null)[] {
  const { path } = operation;
  const param = paramOf(path);
  if (param === null) return [null];
  const object = objectOf[param];
  assert.ok(object, `${path} has a new parameter: say what it is the id of, so that it can be read`);
  const ids = [...(watch.ids.get(object) ?? [])];
  assert.ok(ids.length > 0 || notEverywhere.has(object), `there is no ${object} to read at ${path}`);
  if (isList(operation)) return ids;
  const step = object === "event" ? oneIn.event : oneIn.other;
  return ids.filter((_, index) => index % step === 0);
}

async function readOne(watch: Watch, operation: Operation, id: string | null): Promise<void> {
  const where = `GET ${operation.path}`;
  const path = id === null ? operation.path : operation.path.replace(/\{\w+\}/, encodeURIComponent(id));
  if (operation.id === "streamAudit") {
    // The first of the list is the newest.
    const [newest] = await readPages(watch, where.replace("/stream", ""), path.replace("/stream", ""));
    await watch.send(where, { path, until: (text) => text.includes(newest.hash) && text.endsWith("\n\n") });
  } else if (operation.id === "resumeChatInSession") {
    // Every task has ended, so there is nothing to follow.
    await watch.send(where, { path: path.replace("{chat_id}", "chat") });
  } else if (operation.isStream) {
    // The list of the same events says which is the last.
    const list = path.replace(/\/events\/stream$/, "/events").replace(/\/stream$/, "/events");
    const last = (await readPages(watch, where.replace("/stream", ""), list)).at(-1)?.id;
    await watch.send(where, {
      path,
      until: (text) => text.includes(`id: ${last}\n`) && text.endsWith("\n\n"),
    });
  } else if (isList(operation)) {
    await readPages(watch, where, path);
  } else {
    await watch.send(where, { path });
  }
}

async function readPages(watch: Watch, where: string, path: string): Promise<Json[]> {
  const items: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = `?limit=200${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
    const { status, body }: Received = await watch.send(where, { path: path + query });
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    items.push(...body.data);
    cursor = body.page.next_cursor;
  }
  return items;
}

/** Nothing waits any more, so that every stream of a task has an end. */
async function cancelAll(client: Client): Promise<void> {
  const open = (await client.listAll("/v1/tasks")).filter((task) => !isFinal(task));
  await inParallel(
    open.map(
      ({ id }) =>
        () =>
          client.post(`/v1/tasks/${id}/cancel`),
    ),
  );
  await inParallel(
    open.map(
      ({ id }) =>
        () =>
          client.untilTask(id, isFinal),
    ),
  );
}

/** Compares what is read with what must be left of what was planted. */
class Remains {
  readonly intact = new Set<string>();
  readonly changed = new Map<string, string>();
  /** What came out as it went in is told elsewhere. */
  readonly #leaked = new Set<string>();
  readonly #planter: Planter;

  constructor(planter: Planter) {
    this.#planter = planter;
  }

  see(value: Json): void {
    if (typeof value === "string") this.#seeText(value);
    if (typeof value !== "object" || value === null) return;
    const left = this.#planter.jsonLeft.get(value.plant);
    const isChanged = left !== undefined && !isDeepStrictEqual(value, left);
    if (isChanged && !JSON.stringify(value).includes(canaryStart)) {
      this.changed.set(value.plant, `${JSON.stringify(value)}\n    instead of ${JSON.stringify(left)}`);
    }
    if (left !== undefined) this.intact.add(String(value.plant).slice("tag-".length));
    for (const [key, inner] of Object.entries(value)) {
      this.#seeText(key);
      this.see(inner);
    }
  }

  #seeText(text: string): void {
    for (const [found, id = ""] of text.matchAll(/lead-([0-9a-z]{4}) [\s\S]*? tail-\1/g)) {
      const left = this.#planter.plants.get(id)?.left;
      if (found === left || found === oneLine(left ?? "")) this.intact.add(id);
      else if (found.includes(canaryStart)) this.#leaked.add(id);
      else this.changed.set(id, `${this.#planter.nameOf(id)}: ${found} instead of ${left}`);
    }
  }

  /** What was accepted and never came out. */
  get missing(): string[] {
    const names = [...this.#planter.accepted]
      .filter((id) => !this.intact.has(id) && !this.#leaked.has(id))
      .map((id) => this.#planter.nameOf(id));
    return [...new Set(names)].sort();
  }
}

interface Evidence {
  watch: Watch;
  planter: Planter;
  remains: Remains;
  /** The ids of the harmless words that are in the database. */
  stored: Set<string>;
  log: string;
}

/** Reads all that the server tells, stops it, and reads its files. */
async function gather(server: TestProcess, watch: Watch, planter: Planter): Promise<Evidence> {
  await cancelAll(watch.client);
  const remains = new Remains(planter);
  watch.inspect = (value) => remains.see(value);
  await readEverything(watch);
  watch.scanFiles(server.data, "while it runs");
  await server.stop();
  watch.scanFiles(server.data, "at rest");
  const database = join(server.data, "bridle.db");
  watch.scanDatabase(database);
  watch.scanLog(server);
  const stored = new Set<string>();
  for (const { value } of cells(database)) {
    for (const [, id = ""] of value.matchAll(/lead-([0-9a-z]{4})/g)) stored.add(id);
  }
  return { watch, planter, remains, stored, log: server.output() };
}

/** In full, where a comparison would cut the list off. */
function assertEmpty(list: readonly string[]): void {
  assert.ok(list.length === 0, `${list.length} found:\n${[...new Set(list)].join("\n")}`);
}

const patience = { timeout: 240_000 };

test("the search finds a canary in any form and names its place", () => {
  // Given a canary in any form, when a text is searched, then it is found and its place is named.
  const planter = new Planter();
  for (const kind of kinds) planter.text("there", kind);
  const find = findCanaries(planter);
  const { text } = planter.text("here", "private_key");
  const forms = [
    text,
    JSON.stringify(JSON.stringify(text)),
    encodeURIComponent(text),
    ...["", "1", "12"].map((before) => Buffer.from(`${before}${text}`).toString("base64")),
    ...["", "1", "12"].map((before) => Buffer.from(`${before}${text}`).toString("base64url")),
    Buffer.from(text).toString("hex"),
  ];
  for (const form of forms) assert.deepEqual([...find(`before ${form} after`)], ["here: private_key"], form);
  assert.equal(find("nothing of the kind").size, 0);
});

describe("secrets that callers send", () => {
  let evidence: Evidence;

  before(async () => {
    await using server = await startProcess({ env: { BRIDLE_LOG_LEVEL: "trace" } });
    const client = new Client(server);
    const world = await createWorld(client);
    const planter = new Planter();
    const watch = new Watch(client, findCanaries(planter));
    const jobs: Job[] = [];
    for (const operation of operations) {
      jobs.push(...parameterJobs(watch, planter, world, operation));
      if (operation.schema === null) continue;
      const { body } = await targetOf(operation, world);
      jobs.push(...bodyJobs(watch, planter, world, operation, body));
      jobs.push(...brokenJobs(watch, planter, world, operation));
    }
    jobs.push(...storyJobs(watch, planter, world), ...strayJobs(watch, planter));
    jobs.push(...(await webhookJobs(watch, planter, client)));
    jobs.push(...receiptJobs(watch, planter, world), ...(await importJobs(watch, planter, world)));
    await inParallel(jobs);
    evidence = await gather(server, watch, planter);
  }, patience);

  test("RED-1 no answer, error, stream, receipt or export contains a secret sent as text", (t) => {
    // Given secrets wherever text can be sent, when all is read, then no answer, error, stream, receipt or export has
    // one.
    const places = new Set([...evidence.planter.plants.values()].map(({ place }) => place));
    t.diagnostic(
      `${evidence.planter.plants.size} secrets in ${places.size} places, ${evidence.watch.requests} requests`,
    );
    evidence.watch.answers.assertNone();
  });

  test("RED-1 no server file contains a secret sent as text", () => {
    // Given secrets wherever text can be sent, when the server's files are read, then none has one.
    evidence.watch.files.assertNone();
  });

  test("RED-1 no log line at the fullest level contains a secret sent as text", () => {
    // Given secrets wherever text can be sent, when the server logs all it can, then no line has one.
    assert.ok(evidence.log.split('"msg":"request"').length > evidence.watch.requests / 2);
    evidence.watch.log.assertNone();
  });

  test("RED-3 reading accepted text shows a descriptor for the secret and the rest unchanged", () => {
    // Given what was accepted, when it is read, then a descriptor stands for the secret and the rest is as it was.
    assert.ok(evidence.planter.accepted.size > 500, `only ${evidence.planter.accepted.size} were accepted`);
    assertEmpty([...evidence.remains.changed.values()]);
    assertEmpty(evidence.remains.missing);
  });

  test("RED-3 the database keeps the words around each redacted secret", () => {
    // Given what was accepted, when the database is read, then the words around each secret are there.
    const { planter, stored } = evidence;
    const lost = [...planter.accepted].filter((id) => !stored.has(id) && planter.plants.get(id)?.text !== "");
    assertEmpty(lost.map((id) => planter.nameOf(id)));
  });
});

const agentsServer = fileURLToPath(new URL("./support/redaction-agents-server.ts", import.meta.url));

/** What the agent lets slip, and how its task ends. */
const slips: Record<string, "COMPLETED" | "FAILED"> = {
  "says text": "COMPLETED",
  "says a long text": "COMPLETED",
  "says parts": "COMPLETED",
  "gives text from a step": "COMPLETED",
  "gives JSON from steps of all kinds": "COMPLETED",
  "gives a long text from a step": "COMPLETED",
  "throws in a step": "COMPLETED",
  "fails in a step": "FAILED",
  "names a step": "COMPLETED",
  "names everything and waits": "COMPLETED",
  "asks with a schema": "COMPLETED",
  "asks for approval": "COMPLETED",
  "is denied": "FAILED",
  "finds nobody": "FAILED",
  "writes an artifact": "COMPLETED",
  "writes JSON into an artifact": "COMPLETED",
  "streams an artifact": "COMPLETED",
  "streams an artifact in small pieces": "COMPLETED",
  "spawns with text": "COMPLETED",
  "spawns with JSON": "COMPLETED",
  "spawns nobody": "FAILED",
  "spawns one who fails": "COMPLETED",
  "returns text": "COMPLETED",
  "returns JSON": "COMPLETED",
  "returns a long text": "COMPLETED",
  throws: "FAILED",
  "throws text": "FAILED",
  "fails with details": "FAILED",
  rejects: "FAILED",
  "changes its mind": "FAILED",
  "says a secret": "COMPLETED",
  "says a secret in JSON in JSON": "COMPLETED",
  "returns a secret": "COMPLETED",
  "returns a secret in JSON": "COMPLETED",
  "throws a secret": "FAILED",
  "fails with a secret": "FAILED",
  "writes secrets into artifacts": "COMPLETED",
  "streams a secret in small pieces": "COMPLETED",
  "passes a secret around": "COMPLETED",
  "asks with a secret": "COMPLETED",
  "returns so much that a summary cuts a secret": "COMPLETED",
  "throws so much that a summary cuts a secret": "FAILED",
  "cannot read a secret": "FAILED",
  "reads a login": "COMPLETED",
  "reads several secrets": "COMPLETED",
};
/** With one kind of secret each, of which a summary has the beginning. */
const cutSlip = "returns so much that a summary cuts it";
/** What only spoils the words around it: pieces are recorded as they come. */
const inPieces = /in small pieces|summary cuts/;

function slipOf(planter: Planter, place: string, only?: TextKind): Slip {
  const { text } = only === undefined ? planter.texts(place) : planter.text(place, only);
  const secret = planter.canary(`${place}, the value of a secret step`, "secret step");
  const pin = planter.canary(`${place}, a part of the value of a secret step`, "secret step");
  // With all that has to be escaped somewhere.
  const value = `k"\\ ü\n/${secret.canary} %&`;
  const shown = canaryStart.length + secret.id.length;
  return {
    text,
    name: planter.text(`${place}, as a name`, "bearer_token").text,
    json: planter.trackedJson(`${place}, as JSON`).value,
    secret: value,
    login: { user: "someone", pin: pin.canary },
    cutTo: { text: text.indexOf(canaryStart) + shown, secret: value.indexOf(canaryStart) + shown },
  };
}

describe("secrets that agents let slip", () => {
  let evidence: Evidence;
  const ended = new Map<string, Json>();
  const receipts = new Map<string, Json>();
  /** How replays with other secrets were answered, by what they replay. */
  const replayed = new Map<string, number[]>();

  before(async () => {
    await using directory = await temporaryDirectory();
    await using plantsDirectory = await temporaryDirectory();
    const planter = new Planter();
    const planted: Record<string, Slip> = {};
    for (const name of Object.keys(slips)) planted[name] = slipOf(planter, name);
    for (const kind of kinds) planted[`${cutSlip}: ${kind}`] = slipOf(planter, cutSlip, kind);
    const file = join(plantsDirectory.path, "plants.json");
    writeFileSync(file, JSON.stringify(planted));
    const start = () =>
      startProcess({ script: agentsServer, data: directory.path, env: { AGENT_PLANTS: file } });

    const first = await start();
    const watch = new Watch(new Client(first), findCanaries(planter));
    await createWorld(watch.client);
    const session = await watch.client.createSession();
    const submit = async (input: Json, name: string) => {
      const { body } = await watch.send("POST /v1/tasks", {
        path: "/v1/tasks",
        body: { session_id: session.id, persona_id: "persona_slipping", input },
        headers: { prefer: "wait=30" },
      });
      ended.set(name, body);
    };
    await inParallel([
      ...Object.keys(slips).map((slip) => () => submit({ slip }, slip)),
      ...kinds.map((kind) => () => {
        const plant = `${cutSlip}: ${kind}`;
        return submit({ slip: cutSlip, plant }, plant);
      }),
    ]);
    // What waits goes on in another process, which runs it again from the top.
    await first.kill();
    watch.scanLog(first);
    await using server = await start();
    const client = new Client(server);
    watch.client = client;
    for (const [name, { id }] of ended) ended.set(name, await answerAll(client, id));
    await inParallel(
      [...ended].map(([name, { id, receipt_id }]) => async () => {
        receipts.set(name, (await client.get(`/v1/receipts/${receipt_id}`)).body);
        replayed.set(name, await replay(watch, id, planter));
      }),
    );
    evidence = await gather(server, watch, planter);
  }, patience);

  /** Says yes to everything until the task has ended. */
  async function answerAll(client: Client, taskId: string): Promise<Json> {
    while (true) {
      const task = await client.untilTask(taskId, (each) => isFinal(each) || each.waiting_for !== null);
      if (isFinal(task)) return task;
      const { kind, schema, permission_request_id } = task.waiting_for;
      if (kind === "input") {
        const parts = [
          schema?.type === "object"
            ? { type: "json", value: { city: "Bremen" }, visibility: "public" }
            : { type: "text", text: "yes", visibility: "public" },
        ];
        await client.post(`/v1/tasks/${taskId}/messages`, {
          kind: "input",
          message: { role: "user", parts },
        });
      } else if (kind === "approval") {
        const isDenied = task.input.slip === "is denied";
        const path = `/v1/permission-requests/${permission_request_id}/respond`;
        await client.post(path, { approved: !isDenied });
      }
    }
  }

  /** Again from the log, and with other secrets than it had. */
  async function replay(watch: Watch, taskId: string, planter: Planter): Promise<number[]> {
    const { canary } = planter.canary("secret given with a replay", "secret step");
    const { canary: pin } = planter.canary("secret object given with a replay", "secret step");
    const bodies = [
      { mode: "exact" },
      { mode: "with_overrides", metadata: { allow_live: ["secret", "step"] } },
      {
        mode: "with_overrides",
        override: { "secret:password:1": { kind: "secret_value", value: `k"\\/${canary}` } },
      },
      {
        mode: "with_overrides",
        override: { "secret:login:1": { kind: "secret_value", value: { user: "other", pin } } },
      },
    ];
    const statuses: number[] = [];
    for (const body of bodies) {
      const { status } = await watch.send("POST /v1/tasks/{task_id}/replay", {
        path: `/v1/tasks/${taskId}/replay`,
        body,
        headers: { prefer: "wait=30" },
      });
      statuses.push(status);
    }
    return statuses;
  }

  test("RED-2 tasks of an agent that leaks secrets end as they would without", () => {
    // Given an agent that lets secrets slip, when its tasks have ended, then each ended as it would without.
    const cut = kinds.map((kind) => [`${cutSlip}: ${kind}`, "COMPLETED"]);
    const expected = { ...slips, ...Object.fromEntries(cut) };
    const wrong = Object.entries(expected).flatMap(([name, status]) => {
      const task = ended.get(name);
      return task?.status === status ? [] : `${name}: ${task?.status} ${JSON.stringify(task?.failure)}`;
    });
    assertEmpty(wrong);
    assert.equal(ended.get("changes its mind")?.failure.code, "nondeterministic_run");
  });

  test("RED-2 no answer, stream, receipt, artifact or export contains an agent's leaked secret", (t) => {
    // Given an agent that lets secrets slip, when all is read, then no answer, stream, receipt, artifact or export has
    // one.
    t.diagnostic(`${evidence.planter.plants.size} secrets, ${evidence.watch.requests} requests`);
    evidence.watch.answers.assertNone();
  });

  test("RED-2 no server file contains an agent's leaked secret", () => {
    // Given an agent that lets secrets slip, when the server's files are read, then none has one.
    evidence.watch.files.assertNone();
  });

  test("RED-2 no log line at the fullest level contains an agent's leaked secret", () => {
    // Given an agent that lets secrets slip, when the server logs all it can, then no line has one.
    assert.ok(evidence.log.split('"msg":"request"').length > evidence.watch.requests / 2);
    evidence.watch.log.assertNone();
  });

  test("RED-2 a replay takes other secrets and redacts them everywhere like the first", () => {
    // Given an agent that lets secrets slip, when it is replayed with other secrets, then they are taken and, like the
    // first, found nowhere.
    const [exact, live, withSecret] = replayed.get("says a secret") ?? [];
    assert.deepEqual([exact, live, withSecret], [202, 202, 202]);
    assert.equal(replayed.get("reads a login")?.[3], 202);
    assert.doesNotMatch(`${evidence.watch.answers}${evidence.watch.files}`, /given with a replay/);
  });

  test("RED-3 descriptors replace an agent's leaked secrets and the rest is unchanged", () => {
    // Given an agent that lets secrets slip, when all is read, then descriptors stand for them and the rest is as it
    // was.
    const changed = [...evidence.remains.changed.values()].filter((each) => !inPieces.test(each));
    assertEmpty(changed);
    assert.ok(evidence.remains.intact.size > 200, `only ${evidence.remains.intact.size} were seen`);
  });

  test("RED-3 given what was taken out of a run, when its receipt is read, then it lists each kind", () => {
    const unlisted: string[] = [];
    const wholly = Object.keys(slips).filter((name) =>
      /^(?:says|gives|throws$|throws text|throws in|returns text|returns a long|rejects|fails with details|fails in|is denied|finds|streams an artifact$|writes an artifact|asks with a schema)/.test(
        name,
      ),
    );
    for (const name of wholly.filter((each) => !/secret/.test(each))) {
      const reasons = receipts.get(name)?.redactions.map(({ reason }: Json) => String(reason)) ?? [];
      const missing = kinds.filter((kind) => !reasons.some((reason: string) => reason.startsWith(kind)));
      if (missing.length > 0) unlisted.push(`${name}: ${missing.join(", ")}`);
    }
    assert.ok(wholly.length > 12);
    assertEmpty(unlisted);
  });
});

test("RED-3 the receipt lists what was redacted from a caller's message of any size", async () => {
  // Given a caller's message of any size, when the task's receipt is read, then it lists what was taken out.
  await using server = await startProcess();
  const client = new Client(server);
  const session = await client.createSession();
  const planter = new Planter();
  const { text } = planter.texts("input");
  const inputs: Record<string, Json> = {
    message: userMessage(text),
    "large message": userMessage(filler + text),
    payload: { note: text },
    "large payload": { note: filler + text },
  };
  const unlisted: string[] = [];
  for (const [name, input] of Object.entries(inputs)) {
    const { body: task } = await client.post(
      "/v1/tasks",
      { session_id: session.id, input },
      { prefer: "wait=30" },
    );
    const { body: receipt } = await client.get(`/v1/receipts/${task.receipt_id}`);
    for (const kind of kinds) {
      const isListed = receipt.redactions.some(({ reason }: Json) => reason.startsWith(kind));
      if (!isListed) unlisted.push(`${name}: ${kind}`);
    }
  }
  assertEmpty(unlisted);
});

/** An agent that breaks with a secret where nobody waits for it. */
const careless = `
export const careless = {
  name: "careless",
  version: "1.0.0",
  async run(ctx) {
    const secret = await ctx.step("password", () => ctx.text.split(" ").toReversed().join(""), { kind: "secret" });
    void Promise.reject(new Error("nobody waits for " + secret));
    return "done";
  },
};
`;

test("RED-2 the log redacts a secret step's value from an unhandled error", async () => {
  // Given a secret step's value in an error that nobody waits for, when the server logs it, then without the value.
  await using directory = await temporaryDirectory();
  const agents = join(directory.path, "careless.mjs");
  writeFileSync(agents, careless);
  await using server = await startProcess({
    flags: ["--agents", agents],
    env: { BRIDLE_LOG_LEVEL: "trace" },
  });
  const client = new Client(server);
  const session = await client.createSession();
  const planter = new Planter();
  const { canary } = planter.canary("error that nobody waits for", "secret step");
  const [start, end] = [canary.slice(0, 6), canary.slice(6)];
  await client.post(
    "/v1/tasks",
    { session_id: session.id, persona_id: "persona_careless", input: { text: `${end} ${start}` } },
    { prefer: "wait=30" },
  );
  await server.stop();
  const log = server.output();
  assert.match(log, /A promise was rejected and not handled/);
  assert.deepEqual([...findCanaries(planter)(log)], []);
});

test("RED-4 the server's own secrets sent as text appear in no output, log or other file", async () => {
  // Given the server's own secrets, when they are sent in as text and all is read, then they are in no output, log line
  // or file but their own.
  await using server = await startProcess({
    env: { BRIDLE_LOG_LEVEL: "trace", BRIDLE_API_KEY: undefined },
  });
  const file = (name: string) => join(server.data, name);
  const generated = readFileSync(file("admin.key"), "utf8").trim();
  const client = new Client(server, generated);
  const own: Record<string, Buffer> = {
    "the administrator's key": Buffer.from(generated.slice(-40)),
    "the first signing key": privateHalf(file("signing.key")),
  };
  const keys = await Promise.all([client.createKey({ name: "one" }), client.createKey({ name: "two" })]);
  const once = await client.post(
    "/v1/api-keys",
    { name: "three", actor: "tester", scopes: ["admin"] },
    { "Idempotency-Key": "the key" },
  );
  for (const [index, { key }] of [...keys, once.body].entries()) {
    own[`API key ${index}`] = Buffer.from(String(key).slice(-40));
  }
  const pem = readFileSync(file("signing.key"), "utf8");
  await client.post("/v1/signing-keys/rotate", {}, { "Idempotency-Key": "rotate" });
  own["the second signing key"] = privateHalf(file("signing.key"));
  await client.post("/v1/signing-keys/rotate", {}, { "Idempotency-Key": "rotate again" });
  own["the third signing key"] = privateHalf(file("signing.key"));
  for (const name of ["admin.key", "signing.key"]) assert.equal(statSync(file(name)).mode & 0o777, 0o600);

  // From here on: they come back in whatever way a careless person sends them.
  const watch = new Watch(client, findValues(own));
  const repeated = await watch.send("POST /v1/api-keys", {
    path: "/v1/api-keys",
    body: { name: "three", actor: "tester", scopes: ["admin"] },
    headers: { "Idempotency-Key": "the key" },
  });
  assert.equal(repeated.body.key, null);
  const { ids } = await createWorld(client);
  for (const secret of [generated, ...keys.map(({ key }) => key), pem]) {
    const text = `It is ${secret} as I said.`;
    const body = { workspace_id: "workspace_default", metadata: { note: text, [secret]: secret } };
    await watch.send("POST /v1/sessions", { path: "/v1/sessions", body });
    await watch.send("POST /v1/tasks", {
      path: "/v1/tasks",
      body: { session_id: ids.session_id, input: userMessage(text) },
    });
    await watch.send("GET /v1/sessions/{session_id}", { path: `/v1/sessions/${encodeURIComponent(secret)}` });
    await watch.send("GET nothing", { path: `/v1/nothing/${encodeURIComponent(secret)}` });
    await watch.send("GET /v1/sessions", { path: "/v1/sessions", key: `${oneLine(secret).trim()}x` });
    await watch.send("GET /v1/sessions", {
      path: "/v1/sessions",
      headers: { "Harn-Agents-Protocol-Version": oneLine(secret).trim() },
    });
  }
  await cancelAll(client);
  await readEverything(watch);
  watch.scanFiles(server.data, "while it runs");
  await server.stop();
  watch.scanFiles(server.data, "at rest");
  watch.scanDatabase(file("bridle.db"));
  // The greeting of the first start shows the administrator's key, this once.
  const lines = server.output().split("\n");
  const greeting = lines.filter((line) => line.includes(generated));
  assert.deepEqual(
    greeting.map((line) => line.trim()),
    [`API key   ${generated}`],
  );
  const rest = lines.filter((line) => !line.includes(generated)).join("\n");
  watch.log.add(watch.find(rest), "the log");
  // The search finds them where they are.
  assert.deepEqual([...watch.find(readFileSync(file("admin.key"), "latin1"))], ["the administrator's key"]);
  assert.deepEqual([...watch.find(readFileSync(file("signing.key"), "latin1"))], ["the third signing key"]);
  assertEmpty([watch.answers, watch.files, watch.log].map(String).filter((found) => found !== ""));
});

function privateHalf(file: string): Buffer {
  const { d } = createPrivateKey(readFileSync(file)).export({ format: "jwk" });
  return Buffer.from(String(d), "base64url");
}

test("RED-4 an administrator key chosen by the operator appears in no output, log or file", async () => {
  // Given an administrator's key that the operator chose, when it is sent in as text, then it is in no output, log line
  // or file.
  await using server = await startProcess({ env: { BRIDLE_LOG_LEVEL: "trace" } });
  const client = new Client(server);
  const watch = new Watch(client, findValues({ "the administrator's key": Buffer.from(adminKey) }));
  const text = `It is ${adminKey} as I said.`;
  const session = await watch.send("POST /v1/sessions", {
    path: "/v1/sessions",
    body: { workspace_id: "workspace_default", metadata: { note: text, [adminKey]: adminKey } },
  });
  await watch.send("POST /v1/tasks", {
    path: "/v1/tasks",
    body: { session_id: session.body.id, input: userMessage(text) },
  });
  for (const path of [
    `/v1/sessions/${adminKey}`,
    `/v1/nothing/${adminKey}`,
    `/v1/sessions?cursor=${adminKey}`,
  ]) {
    await watch.send("GET with the key", { path });
  }
  await watch.send("GET with a wrong version", {
    path: "/v1/sessions",
    headers: { "Harn-Agents-Protocol-Version": `${protocolVersion} ${adminKey}` },
  });
  await watch.send("POST /v1/receipts/verify", {
    path: "/v1/receipts/verify",
    body: { receipt: { schema: adminKey, [adminKey]: adminKey } },
  });
  await createWorld(client);
  await cancelAll(client);
  await readEverything(watch);
  const { body: stored } = await client.get(`/v1/sessions/${session.body.id}`);
  assert.equal(stored.metadata.note, `It is ${placeholder("secret")} as I said.`);
  await server.stop();
  watch.scanFiles(server.data, "at rest");
  watch.scanDatabase(join(server.data, "bridle.db"));
  watch.scanLog(server);
  assertEmpty([watch.answers, watch.files, watch.log].map(String).filter((found) => found !== ""));
});
