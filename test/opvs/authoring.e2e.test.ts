/** What authors say of their agents on cards, what agents see of messages, and what they can say of theirs. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defineAgent } from "bridle";
import type { Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { JsonRpcWire, message } from "./wire.ts";

/** Shows what it sees of its message, and makes an artifact of each kind. */
const seer = defineAgent({
  name: "seer",
  version: "1.0.0",
  card: {
    provider: { organization: "Acme", url: "https://acme.example.com" },
    documentationUrl: "https://acme.example.com/docs",
    iconUrl: "https://acme.example.com/icon.png",
    inputModes: ["*/*"],
    outputModes: ["text/*", "application/json"],
  },
  skills: [
    {
      id: "look",
      description: "Looks.",
      tags: ["sight"],
      examples: ["What do you see?"],
      inputModes: ["image/png"],
      outputModes: ["text/plain"],
    },
  ],
  async run(ctx) {
    await ctx.say("Seen.", { metadata: { mood: "fine" }, extensions: ["urn:test:said:1"] });
    await ctx.artifact({
      name: "report.md",
      text: "# Report",
      mimeType: "text/markdown",
      asFile: true,
      description: "What was seen.",
      extensions: ["urn:test:report:1"],
    });
    await ctx.artifact({ name: "film.mp4", mimeType: "video/mp4", url: "https://cdn.example.com/film.mp4" });
    return JSON.parse(JSON.stringify(ctx.message));
  },
});

let server: TestServer;
let wire: JsonRpcWire;
before(async () => {
  server = await startServer({
    config: {
      agents: [seer],
      defaultAgent: "seer",
      publicGrpcUrl: "https://agents.example.com:443",
      oauthIssuers: [
        { issuer: "https://issuer.example.com/", jwks: new URL("https://issuer.example.com/keys") },
      ],
      oauthAudience: "bridle",
    },
    env: { BRIDLE_GRPC_PORT: "0" },
  });
  wire = new JsonRpcWire(server.url);
});
after(() => server[Symbol.asyncDispose]());

async function card(headers: Record<string, string> = {}): Promise<Json> {
  return await (await fetch(`${server.url}/.well-known/agent-card.json`, { headers })).json();
}

let sentCount = 0;

async function send(configuration: object = {}): Promise<Json> {
  sentCount += 1;
  const parts = [
    { text: "Look at this." },
    { raw: "AAAA", filename: "a.png", mediaType: "image/png", metadata: { taken: "today" } },
  ];
  const sent = message("", {
    parts,
    messageId: `m-${sentCount}`,
    referenceTaskIds: ["task_before"],
    metadata: { hint: 1 },
  });
  return await wire.call("SendMessage", { message: sent, configuration });
}

test("OPVS-160 the card at the root is the default agent's, with what its author says of it", async () => {
  const shown = await card({ "a2a-version": "1.0" });
  assert.equal(shown.name, "seer");
  assert.deepEqual(shown.provider, { organization: "Acme", url: "https://acme.example.com" });
  assert.equal(shown.documentationUrl, "https://acme.example.com/docs");
  assert.equal(shown.iconUrl, "https://acme.example.com/icon.png");
  assert.deepEqual(shown.skills[0], {
    id: "look",
    name: "look",
    description: "Looks.",
    tags: ["sight"],
    examples: ["What do you see?"],
    inputModes: ["image/png"],
    outputModes: ["text/plain"],
  });
});

test("OPVS-149 the card declares the issuers that are trusted, and the public address of gRPC", async () => {
  const shown = await card({ "a2a-version": "1.0" });
  assert.equal(
    shown.securitySchemes.oidc.openIdConnectSecurityScheme.openIdConnectUrl,
    "https://issuer.example.com/.well-known/openid-configuration",
  );
  assert.ok(shown.securityRequirements.some(({ schemes }: Json) => "oidc" in schemes));
  const grpc = shown.supportedInterfaces.find(({ protocolBinding }: Json) => protocolBinding === "GRPC");
  assert.equal(grpc.url, "https://agents.example.com:443");
});

test("OPVS-150 the card without a version has the members of both versions, and is signed", async () => {
  const shown = await card();
  assert.equal(shown.capabilities.extendedAgentCard, true);
  assert.equal(shown.supportsAuthenticatedExtendedCard, true);
  assert.equal(shown.signatures.length, 2);
  for (const { transport, url } of shown.additionalInterfaces) {
    if (transport === "GRPC") assert.match(url, /^https?:\/\//);
  }
});

test("OPVS-151 an agent sees the ids, names, metadata and references of its message", async () => {
  const { result, error } = await send({ acceptedOutputModes: ["application/json"] });
  assert.equal(error, undefined, JSON.stringify(error));
  const { task } = result;
  const said = task.history.concat(task.status.message ?? []).flatMap(({ parts }: Json) => parts);
  const seen = said.find(({ data }: Json) => data?.referenceTaskIds !== undefined).data;
  assert.deepEqual(
    [seen.id, seen.metadata, seen.referenceTaskIds],
    [`m-${sentCount}`, { hint: 1 }, ["task_before"]],
  );
  assert.deepEqual(seen.acceptedOutputModes, ["application/json"]);
  assert.deepEqual([seen.parts[1].filename, seen.parts[1].metadata], ["a.png", { taken: "today" }]);
});

test("OPVS-152 an agent describes artifacts, passes addresses on, gives files and metadata", async () => {
  const { result } = await send();
  const [report, film] = result.task.artifacts;
  assert.deepEqual([report.description, report.extensions], ["What was seen.", ["urn:test:report:1"]]);
  assert.equal(Buffer.from(report.parts[0].raw, "base64").toString(), "# Report");
  assert.deepEqual(film.parts, [
    { url: "https://cdn.example.com/film.mp4", filename: "film.mp4", mediaType: "video/mp4" },
  ]);
  const said = result.task.history.find(({ metadata }: Json) => metadata?.mood === "fine");
  assert.deepEqual(said.extensions, ["urn:test:said:1"]);
});

test("OPVS-153 a client that takes nothing of what an agent gives is refused", async () => {
  const { error } = await send({ acceptedOutputModes: ["image/png"] });
  assert.equal(error.reason, "CONTENT_TYPE_NOT_SUPPORTED");
  assert.equal((await send({ acceptedOutputModes: ["text/html", "image/png"] })).error, undefined);
});

test("OPVS-154 a webhook that comes with a message is taken under both names, with a list of schemes too", async () => {
  const hook = {
    url: "https://hooks.example.com/a",
    authentication: { schemes: ["Bearer"], credentials: "secret-1" },
  };
  const { result, error } = await send({ pushNotificationConfig: hook });
  assert.equal(error, undefined, JSON.stringify(error));
  const id = result.task.id;
  assert.ok(id);
  const twice = await send({ pushNotificationConfig: hook, taskPushNotificationConfig: hook });
  assert.match(JSON.stringify(twice.error.details), /given more than once/);
});

test("OPVS-155 versions between the two that are spoken are refused", async () => {
  for (const version of ["0.4", "0.5", "0.9", "2.0"]) {
    const headers = { "a2a-version": version };
    const { error } = await wire.call("ListTasks", {}, { headers });
    assert.equal(error?.reason, "VERSION_NOT_SUPPORTED", version);
  }
});

test("OPVS-156 all wrong parameters of a query are named at once", async () => {
  const path = "/opvs/rest/tasks?pageSize=many&status=ODD&statusTimestampAfter=yesterday";
  const headers = { "a2a-version": "1.0", authorization: "Bearer test-administrator-key-0001" };
  const body: Json = await (await fetch(server.url + path, { headers })).json();
  const violations = body.error.details.flatMap(({ fieldViolations = [] }: Json) => fieldViolations);
  assert.deepEqual(violations.map(({ field }: Json) => field).sort(), [
    "pageSize",
    "status",
    "statusTimestampAfter",
  ]);
});

test("OPVS-157 a repeated message with another webhook is refused, and with the same one it is the same", async () => {
  const parts = [{ text: "Again." }];
  const sent = message("", { parts, messageId: "m-repeat" });
  const withHook = (url: string | null) =>
    wire.call("SendMessage", {
      message: sent,
      configuration: url === null ? {} : { taskPushNotificationConfig: { url } },
    });
  const first = await withHook("https://hooks.example.com/a");
  assert.equal((await withHook("https://hooks.example.com/a")).result?.task.id, first.result?.task.id);
  for (const url of ["https://hooks.example.com/b", null]) {
    const { error } = await withHook(url);
    assert.equal(error?.status, "INVALID_ARGUMENT", String(url));
  }
});
