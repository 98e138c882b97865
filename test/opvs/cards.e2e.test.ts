/** Agent cards over a real server: where they are, what they say, who signed them, how they are kept. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { verifyAgentCardSignature } from "@a2a-js/sdk";
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from "@a2a-js/sdk/client";
import { isLegacyAgentCard, parseLegacyAgentCard } from "@a2a-js/sdk/compat/v0_3/client";
import { type DescField, type DescMessage, fromJson, getOption, hasOption } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior } from "../../proto/generated/google/api/field_behavior_pb.js";
import { AgentCardSchema } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { canonicalCard, strippedCard, verifyCard } from "../../src/policy/agent-card.ts";
import { Client, type Json } from "../support/client.ts";
import { ask } from "../support/oauth.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

const script = new URL("../support/cards-server.ts", import.meta.url).pathname;
const version1 = { "a2a-version": "1.0" };
const agentNames = [
  ...["echo", "assistant", "gate", "rehearsal", "tour", "skilled", "silent", "plain", "unset"],
  ...["patient", "open", "narrow", "elsewhere"],
];

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestProcess;
let client: Client;

before(async () => {
  directory = await temporaryDirectory();
  server = await startProcess({ data: directory.path, script });
  client = new Client(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

/** As somebody without a key, who speaks 1.0 unless told otherwise. */
async function read(path: string, headers: Record<string, string> = version1) {
  return await client.call(path, { key: null, headers });
}

function cardPath(agent: string): string {
  return `/opvs/agents/${agent}/.well-known/agent-card.json`;
}

async function cardOf(agent: string, headers?: Record<string, string>): Promise<Json> {
  const { status, body } = await read(cardPath(agent), headers);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function publishedKeys(): Promise<Json[]> {
  return (await client.get("/.well-known/jwks.json")).body.keys;
}

const officialVerifier = verifyAgentCardSignature(async (kid, jku) => {
  assert.equal(jku, `${server.url}/.well-known/jwks.json`);
  return (await publishedKeys()).find((key) => key.kid === kid) ?? assert.fail(`no key ${kid}`);
});

/** Every REQUIRED field that is absent or empty, by its path. */
function missingIn(schema: DescMessage, json: Json, path = ""): string[] {
  return schema.fields.flatMap((field) => {
    const value = json[field.jsonName];
    const here = `${path}.${field.jsonName}`;
    if (value === undefined) return isRequired(field) ? [here] : [];
    if (
      isRequired(field) &&
      (value === "" || (typeof value === "object" && Object.keys(value).length === 0))
    ) {
      return [here];
    }
    const inner = field.message;
    if (inner === undefined || inner.typeName.startsWith("google.")) return [];
    const nested: [string, Json][] =
      field.fieldKind === "message" ? [[here, value]] : Object.entries<Json>(value);
    return nested.flatMap(([at, each]) => missingIn(inner, each, `${here}.${at}`));
  });
}

function isRequired(field: DescField): boolean {
  return (
    hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
  );
}

test("OPVS-118 each card address returns its agent's card without credentials", async () => {
  // Given the addresses of a card, when they are read without credentials, then each has the card of its agent.
  const front = await read("/.well-known/agent-card.json");
  assert.equal(front.status, 200);
  assert.equal(front.body.name, "echo");
  for (const base of ["/opvs", "/a2a"]) {
    assert.deepEqual((await read(`${base}/.well-known/agent-card.json`)).body, front.body);
    for (const agent of agentNames) {
      const card = await cardOf(agent);
      assert.equal(card.name, agent);
      assert.deepEqual((await read(`${base}/agents/${agent}/.well-known/agent-card.json`)).body, card);
      assert.deepEqual((await read(`${base}/agents/${agent}/card`)).body, card);
    }
  }
});

test("CRD-4 the catalogue's addresses lead to a card for every loaded agent", async () => {
  // Given the catalogue, when its addresses are followed, then there is a card for every agent that is loaded.
  for (const base of ["/opvs", "/a2a"]) {
    const { agents } = (await read(`${base}/agents`)).body;
    assert.deepEqual(
      agents.map(({ name }: Json) => name),
      agentNames,
    );
    for (const { name, version, cardUrl, public: isPublic } of agents) {
      const response = await fetch(cardUrl, { headers: version1 });
      const card: Json = await response.json();
      assert.deepEqual([card.name, card.version], [name, version]);
      assert.equal(isPublic, card.securityRequirements === undefined);
    }
  }
});

test("CRD-4 the card of an agent that is not loaded answers 404 in protocol form", async () => {
  // Given an agent that is not loaded, when its card is asked for, then it is 404 in the form of the protocol.
  const hostile = ["nobody", "Echo", "..%2fecho", "%00", "__proto__", "constructor", "e".repeat(150)];
  for (const agent of hostile) {
    for (const path of [cardPath(agent), `/a2a/agents/${agent}/card`]) {
      const { status, body, headers } = await read(path);
      assert.equal(status, 404, path);
      assert.deepEqual(
        [body.error.code, body.error.status, body.error.details],
        [404, "NOT_FOUND", []],
        path,
      );
      assert.equal(headers.get("cache-control"), "no-store");
    }
  }
});

test("OPVS-93, OPVS-96, OPVS-97 every card has all required fields and valid schemes", async () => {
  // Given every card, when it is checked against the definition, then nothing required is missing or empty and every
  // scheme is one.
  for (const agent of agentNames) {
    const card = await cardOf(agent);
    fromJson(AgentCardSchema, card);
    assert.deepEqual(missingIn(AgentCardSchema, card), [], agent);
    const { bearer, oauth2 } = card.securitySchemes;
    assert.deepEqual(
      [Object.keys(bearer), Object.keys(oauth2)],
      [["httpAuthSecurityScheme"], ["oauth2SecurityScheme"]],
    );
    assert.deepEqual(Object.keys(oauth2.oauth2SecurityScheme.flows), ["clientCredentials"]);
  }
});

test("CRD-4 a card has what its agent declares and derives the rest", async () => {
  // Given what an agent says of itself, when its card is read, then it is said there, and what it leaves out is derived.
  const skilled = await cardOf("skilled");
  assert.match(skilled.description, /\u{1F9F0}\uFFFD$/u);
  assert.equal(skilled.version, "1.0.0");
  assert.deepEqual(skilled.defaultInputModes, ["text/plain", "image/*"]);
  const { extensions, ...capabilities } = skilled.capabilities;
  assert.deepEqual(capabilities, { streaming: false, pushNotifications: false, extendedAgentCard: true });
  assert.deepEqual(extensions.slice(-2), [
    { uri: "urn:example:plain:1" },
    {
      uri: "urn:example:needed:2",
      description: "Needed.",
      required: true,
      params: { depth: 3, of: ["a", false] },
    },
  ]);
  const uris = extensions.map(({ uri }: Json) => uri);
  assert.ok(uris.includes("urn:bridle:durable-cursor:1") && uris.includes("urn:bridle:delegation:1"));
  assert.deepEqual(skilled.skills, [
    { id: "count-words", name: "Count words", description: "Counts.", tags: ["skilled", "count", "words"] },
    { id: "ÄÖ.x", name: "ÄÖ.x", description: skilled.description, tags: ["skilled", "äö", "x"] },
  ]);
  const { skills, description } = await cardOf("silent");
  assert.equal(description, "The agent silent.");
  assert.deepEqual(skills, [{ id: "silent", name: "silent", description, tags: ["silent"] }]);
  assert.equal((await cardOf("plain")).capabilities.extendedAgentCard, false);
  assert.equal((await cardOf("unset")).capabilities.extendedAgentCard, true);
});

test("OPVS-104, OPVS-119 a card lists every binding in both versions, newest first", async () => {
  // Given a card, when its interfaces are read, then every binding is there in both versions, the newest first, at the
  // agent's own address.
  const places: [string, string][] = [
    ["/.well-known/agent-card.json", `${server.url}/opvs`],
    [cardPath("skilled"), `${server.url}/opvs/agents/skilled`],
  ];
  for (const [path, endpoint] of places) {
    const { supportedInterfaces } = (await read(path)).body;
    assert.deepEqual(
      supportedInterfaces.filter(({ protocolBinding }: Json) => protocolBinding !== "GRPC"),
      [
        { url: `${endpoint}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url: `${endpoint}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
        { url: `${endpoint}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
        { url: `${endpoint}/rest`, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
      ],
    );
  }
});

test("CRD-4 a card names the served token endpoint; a public agent's demands nothing", async () => {
  // Given a card, when a client looks for how to authenticate, then it finds the token endpoint that is served; a public
  // agent asks for nothing.
  const { securitySchemes, securityRequirements } = await cardOf("skilled");
  const { clientCredentials } = securitySchemes.oauth2.oauth2SecurityScheme.flows;
  assert.equal(clientCredentials.tokenUrl, `${server.url}/oauth/token`);
  assert.equal((await ask(server.url, {})).body.error, "invalid_client");
  const { oauth2MetadataUrl } = securitySchemes.oauth2.oauth2SecurityScheme;
  const metadata: Json = await (await fetch(oauth2MetadataUrl)).json();
  assert.equal(metadata.token_endpoint, clientCredentials.tokenUrl);
  for (const { schemes } of securityRequirements) {
    for (const [name, { list }] of Object.entries<Json>(schemes)) {
      assert.ok(name in securitySchemes);
      for (const scope of list) assert.ok(scope in clientCredentials.scopes, scope);
    }
  }
  const open = await cardOf("open");
  assert.equal("securityRequirements" in open, false);
  assert.match(open.description, /without credentials/);
});

test("CRD-4 a key with just the card's scopes may call every operation", async () => {
  // Given a key with the scopes that the card asks for and no others, when it is used, then every operation is its own
  // to call, with history and artifacts.
  const { securityRequirements } = await cardOf("plain");
  const { key } = await client.createKey({ scopes: securityRequirements[0].schemes.bearer.list });
  const rpc = async (method: string, params: object): Promise<Json> => {
    const body = { jsonrpc: "2.0", id: 1, method, params };
    return (await client.call("/opvs/agents/plain/rpc", { body, key, headers: version1 })).body;
  };
  const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] };
  const { result } = await rpc("SendMessage", { message });
  assert.equal(result.task.artifacts.length, 1);
  const { id, contextId } = result.task;
  assert.ok((await rpc("GetTask", { id })).result.history.length > 0);
  assert.equal((await rpc("ListTasks", { contextId })).result.totalSize, 1);
  assert.equal((await rpc("CancelTask", { id })).error.code, -32002);
  assert.equal((await rpc("SubscribeToTask", { id })).error.code, -32004);
});

test("CRD-4 cards contain nothing of tenants, workspaces or personas", async () => {
  // Given tenants, workspaces and personas, when cards are read, then nothing of anybody's is in them.
  await client.createKey({ tenant_id: "tenant_secretive", actor: "secretive" });
  await client.post("/v1/workspaces", { name: "Secretive", root: "." });
  const texts = await Promise.all(agentNames.map(async (agent) => JSON.stringify(await cardOf(agent))));
  const all = texts.join() + JSON.stringify((await read("/opvs/agents")).body);
  assert.ok(!/secretive|tenant_|workspace_|persona_/i.test(all));
});

test("CRD-5, OPVS-130 every card's signature verifies with ours and the official library", async () => {
  // Given every card, when it is verified with the published keys, then ours and the official library agree that it is
  // signed.
  const keys = await publishedKeys();
  for (const agent of agentNames) {
    const card = await cardOf(agent);
    assert.equal(canonicalCard(card), strippedCard(card), agent);
    assert.equal(await verifyCard(card, keys), true, agent);
    await officialVerifier(card);
    const [{ protected: header }] = card.signatures;
    const { alg, typ, kid } = JSON.parse(Buffer.from(header, "base64url").toString());
    assert.deepEqual([alg, typ], ["EdDSA", "JOSE"]);
    assert.ok(keys.some((key) => key.kid === kid));
    assert.equal(await verifyCard({ ...card, name: "another" }, keys), false);
  }
  assert.equal(await verifyCard((await read("/.well-known/agent-card.json")).body, keys), true);
});

test("CRD-7 a card read again is identical, with 304 only for its own version", async () => {
  // Given a card that was read, when it is asked for again, then it is the same, and 304 for those who have it, in their
  // version only.
  for (const path of ["/.well-known/agent-card.json", cardPath("skilled")]) {
    const first = await read(path);
    const etag = first.headers.get("etag") ?? "";
    assert.match(first.headers.get("cache-control") ?? "", /^public, max-age=\d+$/);
    assert.match(first.headers.get("vary") ?? "", /OPVS-Version, A2A-Version/);
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const { status, body, headers } = await read(path, { ...version1, "if-none-match": known });
      assert.deepEqual([status, body, headers.get("etag")], [304, "", etag], known);
    }
    for (const headers of [{ "if-none-match": etag }, { ...version1, "if-none-match": '"x"' }]) {
      assert.equal((await read(path, headers)).status, 200);
    }
  }
  assert.notEqual(
    (await read(cardPath("plain"))).headers.get("etag"),
    (await read(cardPath("unset"))).headers.get("etag"),
  );
});

test("CRD-7 cards of the same agents on another server differ only in the address", async () => {
  // Given the same agents, when the server is started again elsewhere, then the cards differ in nothing but the address.
  const before = await cardOf("skilled");
  const from = server.url;
  await server.kill();
  server = await startProcess({ data: directory.path, script });
  client = new Client(server);
  const after = await cardOf("skilled");
  const unsigned = ({ signatures: _signatures, ...card }: Json) => JSON.stringify(card);
  assert.equal(unsigned(after), unsigned(before).replaceAll(from, server.url));
});

test("CRD-6 after a key rotation old cards fail verification and new ones pass", async () => {
  // Given a key that was turned, when cards are verified, then the old ones are not believed any more and the new ones
  // are.
  const before = await cardOf("echo");
  const etag = (await read(cardPath("echo"))).headers.get("etag") ?? "";
  assert.equal(await verifyCard(before, await publishedKeys()), true);
  assert.equal((await client.post("/v1/signing-keys/rotate")).status, 201);
  const keys = await publishedKeys();
  assert.equal(await verifyCard(before, keys), false);
  const turned = await read(cardPath("echo"), { ...version1, "if-none-match": etag });
  assert.equal(turned.status, 200);
  assert.equal(await verifyCard(turned.body, keys), true);
  await officialVerifier(turned.body);
  await server.kill();
  server = await startProcess({ data: directory.path, script });
  client = new Client(server);
  assert.equal(await verifyCard(before, await publishedKeys()), false);
  assert.equal(await verifyCard(await cardOf("echo"), await publishedKeys()), true);
});

test("CRD-8 a client of 0.3 or no version gets the card with the members of both versions", async () => {
  // Given a client that says 0.3 or nothing, when it reads a card, then it gets the old shape and
  // the members of 1.0 beside it, signed twice.
  for (const agent of agentNames) {
    const card = await cardOf(agent);
    const legacy = await cardOf(agent, {});
    for (const headers of [{ "a2a-version": "0.3" }, { "opvs-version": "0.3.0" }, { "a2a-version": "" }]) {
      assert.deepEqual(await cardOf(agent, headers), legacy);
    }
    assert.equal(legacy.signatures.length, 2);
    assert.equal(await verifyCard(legacy, await publishedKeys()), true);
    assert.deepEqual(legacy.supportedInterfaces, card.supportedInterfaces);
    assert.equal(legacy.protocolVersion, "0.3.0");
    assert.equal(legacy.url, `${server.url}/opvs/agents/${agent}/rpc`);
    assert.equal(legacy.preferredTransport, "JSONRPC");
    assert.deepEqual(legacy.securitySchemes.bearer.type, "http");
    assert.deepEqual(legacy.securitySchemes.oauth2.type, "oauth2");
    assert.equal(legacy.supportsAuthenticatedExtendedCard, card.capabilities.extendedAgentCard);
    assert.deepEqual(legacy.capabilities, card.capabilities);
  }
  const { security } = await cardOf("skilled", {});
  assert.deepEqual(Object.keys(security[0]), ["bearer"]);
  assert.equal("security" in (await cardOf("open", {})), false);
});

test("CRD-8 the version header beats the query and an unsupported version is refused", async () => {
  // Given a version by query or by header, when a card is asked for, then the header counts first, and what is not
  // spoken is refused.
  const path = cardPath("plain");
  assert.ok(!("url" in (await read(`${path}?OPVS-Version=1.0`, {})).body));
  assert.ok(!("url" in (await read(`${path}?a2a-version=1.0.7`, {})).body));
  assert.ok("url" in (await read(`${path}?A2A-Version=1.0`, { "a2a-version": "0.3" })).body);
  for (const version of ["2.0", "0.5", "0.2", "one", "1", "1.0.0.0"]) {
    const { status, body } = await read(path, { "a2a-version": version });
    assert.deepEqual([status, body.error.details[0].reason], [400, "VERSION_NOT_SUPPORTED"], version);
  }
  const { status } = await read(path, { "a2a-version": "1.0", "opvs-version": "0.3" });
  assert.equal(status, 400);
});

test("CRD-8 the official client in both modes finds a usable interface in every card", async () => {
  // Given the official client in both modes, when it resolves every card, then it finds an interface that it speaks.
  for (const legacyCompat of [{ enabled: true }, { enabled: false }]) {
    const cardResolver = new DefaultAgentCardResolver({ legacyCompat });
    const factory = new ClientFactory({ ...ClientFactoryOptions.default, cardResolver });
    for (const agent of agentNames) {
      const card = await cardResolver.resolve(server.url, cardPath(agent));
      assert.equal(card.name, agent);
      assert.equal(card.supportedInterfaces[0]?.protocolVersion, "1.0");
      await factory.createFromUrl(server.url, cardPath(agent));
      const legacy = await cardOf(agent, {});
      assert.equal(isLegacyAgentCard(legacy), false, "a client that knows 1.0 uses it");
      await factory.createFromAgentCard(legacy);
      // What a client of 0.3 makes of it, which knows nothing of the new interfaces.
      const { supportedInterfaces: _unknown, ...known } = legacy;
      assert.equal(isLegacyAgentCard(known), true);
      const translated = parseLegacyAgentCard(known);
      assert.deepEqual(
        translated.supportedInterfaces.map(({ url, protocolBinding }) => [url, protocolBinding]),
        legacy.supportedInterfaces
          .filter(({ protocolVersion }: Json) => protocolVersion === "0.3")
          .map(({ url, protocolBinding }: Json) => [url, protocolBinding]),
      );
      assert.deepEqual(translated.capabilities?.extendedAgentCard, card.capabilities?.extendedAgentCard);
      assert.deepEqual(
        translated.skills.map(({ id, tags }) => [id, tags]),
        card.skills.map(({ id, tags }) => [id, tags]),
      );
    }
  }
});
