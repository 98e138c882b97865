/** What the server says about itself without being asked who you are: versions, capabilities, the card, the API. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Check, Errors } from "typebox/value";
import { Client, errorOf, isFinal, type Json, protocolVersion, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSocket } from "../support/socket.ts";

let server: TestServer;
let client: Client;
let document: Json;
let receiptSchema: Json;

before(async () => {
  server = await startServer();
  client = new Client(server);
  document = (await client.get("/openapi.json")).body;
  receiptSchema = (await client.get(receiptSchemaPath)).body;
});
after(() => server[Symbol.asyncDispose]());

const versionHeader = "harn-agents-protocol-version";
/** The form of a receipt stands by itself. */
const receiptSchemaPath = "/receipt-2026-04-25.schema.json";
const publicPaths = [
  receiptSchemaPath,
  "/v1",
  "/v1/agent-card",
  "/.well-known/jwks.json",
  "/health",
  "/ready",
  "/version",
  "/openapi.json",
];

interface Operation {
  name: string;
  method: string;
  path: string;
  described: Json;
}

/** Every operation of the document, its path filled with an id that nobody has. */
function operations(): Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, "unknown"),
      described,
    })),
  );
}

function isPublic({ described }: Operation): boolean {
  return described.security?.length === 0;
}

/** The schema with everything it refers to put in place. */
function resolve(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(resolve);
  if (typeof schema !== "object" || schema === null) return schema;
  if (typeof schema.$ref === "string") return resolve(target(schema.$ref));
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolve(value)]));
}

function target(ref: string): Json {
  if (ref === receiptSchemaPath) return receiptSchema;
  assert.match(ref, /^#\//);
  return ref
    .slice(2)
    .split("/")
    .reduce((at: Json, step) => at?.[step], document);
}

function refsIn(value: Json): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries<Json>(value).flatMap(([key, inner]) => (key === "$ref" ? [inner] : refsIn(inner)));
}

/** Fails unless the answer of an operation is what the document says it is. */
function assertAsDescribed(method: string, path: string, status: number | "default", body: Json): void {
  const described = document.paths[path][method.toLowerCase()].responses[status];
  assert.ok(described, `${method} ${path} does not describe ${status}`);
  const schema = resolve(described.content["application/json"].schema);
  const [problem] = Check(schema, body) ? [] : Errors(schema, body);
  assert.equal(problem, undefined, `${method} ${path}: ${JSON.stringify(problem)}`);
}

test("DIS-12 the Receipt component refers to the normative schema, which is served and fits receipts", async () => {
  assert.deepEqual(document.components.schemas.Receipt, { $ref: receiptSchemaPath });
  assert.ok(!JSON.stringify(document).includes("autonomy_budget"), "it is written down once");
  const { id } = await client.createSession();
  const { body: task } = await client.post("/v1/tasks", { session_id: id, input: { text: "hi" } });
  const { receipt_id } = await client.untilTask(task.id, isFinal);
  assertAsDescribed(
    "GET",
    "/v1/receipts/{receipt_id}",
    200,
    (await client.get(`/v1/receipts/${receipt_id}`)).body,
  );
});

describe("Versioning", () => {
  const refused = {
    "no version": undefined,
    "an unknown version": "agents-protocol-1999-01-01",
    "an empty version": "",
  };
  for (const [what, version] of Object.entries(refused)) {
    test(`VER-1 a resource request with ${what} answers 426 with the supported versions`, async () => {
      // Given ${what}, when a resource is asked for, then it is 426 with the supported versions.
      const error = errorOf(await client.get("/v1/sessions", { [versionHeader]: version }), 426);
      assert.equal(error.code, "unsupported_protocol_version");
      assert.deepEqual(error.details.supported_versions, [protocolVersion]);
    });
  }

  test("VER-1 given no version, when a session is created, then it is 426 and no session is there", async () => {
    const count = (await client.listAll("/v1/sessions")).length;
    const body = { workspace_id: "workspace_default" };
    errorOf(await client.post("/v1/sessions", body, { [versionHeader]: undefined }), 426);
    assert.equal((await client.listAll("/v1/sessions")).length, count);
  });

  for (const path of publicPaths) {
    test(`VER-2 given neither key nor version, when ${path} is read, then it is there`, async () => {
      const { status, body } = await client.call(path, {
        key: null,
        headers: { [versionHeader]: undefined },
      });
      assert.equal(status, 200);
      assert.equal(typeof body, "object");
    });

    test(`VER-2 ${path} is readable even with a wrong key and an unknown version`, async () => {
      // Given a wrong key and an unknown version, when ${path} is read, then it is there all the same.
      const { status } = await client.call(path, { key: "wrong", headers: { [versionHeader]: "unknown" } });
      assert.equal(status, 200);
    });
  }

  for (const [what, key] of Object.entries({ "no key": null, "a wrong key": "wrong" })) {
    test(`VER-3 a resource request with ${what} and no version answers 401 and not 426`, async () => {
      // Given ${what} and no version, when a resource is asked for, then it is 401 and not 426.
      const answer = await client.call("/v1/sessions", { key, headers: { [versionHeader]: undefined } });
      assert.equal(errorOf(answer, 401).code, "unauthenticated");
    });
  }

  const unknown = { not_in_the_protocol: { deep: [1] } };
  const writes: Record<string, (sessionId: string) => [path: string, body: object]> = {
    "a session": () => ["/v1/sessions", { workspace_id: "workspace_default" }],
    "a task": (id) => ["/v1/tasks", { session_id: id, input: userMessage("hello") }],
    "a message": (id) => [
      `/v1/sessions/${id}/messages`,
      { message: { ...userMessage("hello"), ...unknown } },
    ],
    "a branch": (id) => [`/v1/sessions/${id}/branches`, { kind: "sandbox", base_ref: "main" }],
    "a workspace": () => ["/v1/workspaces", { name: "W", root: "." }],
    "an artifact": () => ["/v1/artifacts", { kind: "file", mime_type: "text/plain", visibility: "public" }],
  };
  for (const [what, write] of Object.entries(writes)) {
    test(`VER-4 given an unknown field, when ${what} is created, then it is created without it`, async () => {
      const [path, body] = write((await client.createSession()).id);
      const answer = await client.post(path, { ...body, ...unknown });
      assert.ok([201, 202].includes(answer.status), JSON.stringify(answer.body));
      assert.ok(!("not_in_the_protocol" in answer.body));
    });
  }

  test("VER-4 given an unknown query parameter, when a list is read, then it is ignored", async () => {
    assert.equal((await client.get("/v1/sessions?not_in_the_protocol=1")).status, 200);
  });
});

describe("Discovery", () => {
  test("DIS-1 GET /v1 names the protocol family and the version that it accepts", async () => {
    // Given a server, when GET /v1 is read, then it names the protocol family and the version that it accepts.
    const { body } = await client.get("/v1");
    assert.equal(body.object, "protocol_discovery");
    assert.equal(body.protocol_family, "harn_agents_protocol");
    assert.ok(body.supported_versions.includes(body.current_version));
    for (const version of body.supported_versions) {
      assert.equal((await client.get("/v1/sessions", { [versionHeader]: version })).status, 200);
    }
  });

  /** A capability of the protocol and a path that exists where it is served. */
  const proofs: Record<string, string> = {
    rest: "/v1/sessions",
    sse: "/v1/events/stream",
    websocket: "/v1/sessions/{session_id}/ws",
    receipts: "/v1/receipts/{receipt_id}",
    replay: "/v1/tasks/{task_id}/replay",
  };
  test("DIS-1 exactly the capabilities that GET /v1 declares true have served routes", async () => {
    // Given the capabilities of GET /v1, when their routes are looked for, then those that are true are served and no
    // others.
    const { capabilities } = (await client.get("/v1")).body;
    assert.deepEqual(Object.keys(capabilities).sort(), Object.keys(proofs).sort());
    for (const [capability, path] of Object.entries(proofs)) {
      assert.equal(capabilities[capability], path in document.paths, capability);
      // A served route asks for a key; one that is not there does not.
      const options = { key: null, method: capability === "replay" ? "POST" : "GET" };
      const { status } = await client.call(path.replaceAll(/\{\w+\}/g, "unknown"), options);
      assert.equal(status, capabilities[capability] ? 401 : 404, capability);
    }
  });

  test("DIS-1 given the protocols of GET /v1, when their addresses are used, then each is served", async () => {
    const { protocols } = (await client.get("/v1")).body;
    assert.deepEqual(
      protocols.map(({ id }: Json) => id),
      ["harn", "opvs", "harp", "openharness", "mcp"],
    );
    const messages: Record<string, string> = { harn: "/tasks", opvs: "/rpc", openharness: "", mcp: "" };
    for (const { id, path } of protocols.filter(({ id }: Json) => id in messages)) {
      const options = { key: null, method: "POST", raw: "{}" };
      assert.equal((await client.call(path + messages[id], options)).status, 401, id);
    }
    const gateway = protocols.find(({ id }: Json) => id === "harp");
    assert.equal((await client.get(`${gateway.path}/v1/status`)).status, 200);
  });

  test("DIS-1 given a key, when the capabilities are listed, then each has an id and a description", async () => {
    const { status, body } = await client.get("/v1/capabilities");
    assert.equal(status, 200);
    assert.ok(body.capabilities.length > 0);
    for (const { id, description } of body.capabilities) {
      assert.match(id, /^[a-z_]+$/);
      assert.notEqual(description, "");
    }
  });

  test("DIS-2 given the agent card, when its transports are used, then each is served", async () => {
    const { body } = await client.get("/v1/agent-card");
    assert.deepEqual(
      body.harn_interfaces.map(({ transport }: Json) => transport),
      ["rest", "sse", "websocket", "a2a", "mcp", "openharness"],
    );
    for (const { transport, url } of body.harn_interfaces) {
      if (transport === "websocket") {
        assert.ok(url.startsWith(server.url.replace("http", "ws")), url);
        const { id } = await client.createSession();
        await using socket = await openSocket(client, new URL(url.replace("{session_id}", id)).pathname);
        assert.notEqual(socket, null);
        continue;
      }
      assert.ok(url.startsWith(server.url), url);
      if (["a2a", "mcp", "openharness"].includes(transport)) {
        const { status } = await fetch(url, { method: "POST", headers: client.headers() });
        assert.notEqual(status, 404, transport);
        continue;
      }
      const controller = new AbortController();
      const response = await fetch(url, { headers: client.headers(), signal: controller.signal });
      assert.equal(response.status, 200, transport);
      controller.abort();
    }
  });

  test("DIS-2 the skills of the agent card are those of the usable personas", async () => {
    // Given the agent card, when its skills are read, then they are those of the personas that can be used.
    const { body } = await client.get("/v1/agent-card");
    const personas = await client.listAll("/v1/personas");
    assert.deepEqual(
      new Set(body.skills.map(({ source }: Json) => source)),
      new Set(personas.map(({ entry_workflow }) => entry_workflow)),
    );
  });
});

describe("The OpenAPI document", () => {
  test("DIS-3 the document is OpenAPI 3.1 and describes an answer for every operation", () => {
    // Given the document, when its shape is checked, then it is OpenAPI 3.1 with a described answer for every operation.
    assert.match(document.openapi, /^3\.1\.\d+$/);
    assert.equal(typeof document.info.title, "string");
    assert.equal(document.info.version, protocolVersion);
    assert.ok(operations().length > 40);
    for (const { name, path, described } of operations()) {
      assert.match(path, /^\//);
      assert.equal(typeof described.summary, "string", name);
      const statuses = Object.keys(described.responses);
      assert.ok(
        statuses.some((status) => /^(?:101|2\d\d)$/.test(status)) && statuses.includes("default"),
        `${name} describes ${statuses}`,
      );
      for (const response of Object.values<Json>(described.responses)) {
        assert.equal(typeof response.description, "string", name);
      }
    }
  });

  test("DIS-3 given the document, when operation ids are compared, then each is used once", () => {
    const ids = operations().map(({ described }) => described.operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id)));
  });

  test("DIS-3 given the document, when its references are followed, then each leads to a schema", () => {
    const refs = refsIn(document);
    assert.ok(refs.length > 50);
    for (const ref of refs) assert.equal(typeof target(ref), "object", ref);
  });

  test("DIS-3 the document describes each path parameter once", () => {
    // Given the document, when path parameters are compared with the paths, then each is described once.
    for (const [path, item] of Object.entries<Json>(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const [method, { parameters }] of Object.entries<Json>(item)) {
        const described = parameters.filter((parameter: Json) => parameter.in === "path");
        assert.deepEqual(
          described.map(({ name }: Json) => name),
          inPath,
          `${method} ${path}`,
        );
        assert.ok(described.every(({ required }: Json) => required === true));
      }
    }
  });

  test("DIS-3 the document describes all public pages as public", () => {
    // Given the document, when the public pages are looked for, then all of them are described as public.
    const described = operations().filter(isPublic);
    assert.deepEqual(described.map(({ path }) => path).sort(), [...publicPaths].sort());
  });

  test("DIS-3 a described route that is not public answers 401 and not 404 without a key", async () => {
    // Given no key, when a described route that is not public is called, then it exists: 401 and not 404.
    const guarded = operations().filter((operation) => !isPublic(operation));
    assert.ok(guarded.length > 35);
    for (const { name, method, path } of guarded) {
      const { status } = await client.call(path, { method, key: null });
      assert.equal(status, 401, name);
    }
  });

  test("DIS-3 a route that the document does not have is not found", async () => {
    // Given a key, when a route that the document does not have is called, then it is not there.
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const described = operations().some((operation) => operation.name === `${method} /v1/sessions`);
      assert.ok(!described);
      errorOf(await client.call("/v1/sessions", { method }), 404);
    }
  });

  test("DIS-3 an empty body is refused by the name of a field described as required", async () => {
    // Given the required fields of a described body, when an empty body is sent, then one of them is named.
    const demanding = operations().flatMap((operation) => {
      const schema = operation.described.requestBody?.content["application/json"]?.schema;
      const { required = [] } = schema === undefined ? {} : resolve(schema);
      return required.length > 0 ? [{ ...operation, required }] : [];
    });
    assert.ok(demanding.length >= 8);
    for (const { name, method, path, required } of demanding) {
      const error = errorOf(await client.call(path, { method, body: {} }), 400);
      assert.equal(error.code, "invalid_request", name);
      assert.ok(required.includes(error.param), `${name} named ${error.param}, not one of ${required}`);
    }
  });

  /** The answer of every GET that gives JSON, each about something that is there. */
  async function readEverything(): Promise<{ path: string; status: number; body: Json }[]> {
    const session = await client.createSession({ initial_messages: [userMessage("first")] });
    const waiting = await client.rehearse(session.id, "approve ship");
    const failed = await client.rehearse(session.id, "artifact a.txt hello", "fail on purpose");
    const completed = await client.submit(session.id, "", { input: { a: 1 } });
    await client.untilTask(completed.id, ({ status }) => status === "COMPLETED");
    const [message] = await client.listAll(`/v1/sessions/${session.id}/messages`);
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${failed.id}`);
    const [event] = await client.listAll(`/v1/tasks/${failed.id}/events`);
    const vault = await client.post("/v1/vaults", { provider: "local", capabilities: ["read", "write"] });
    const secret = `/v1/vaults/${vault.body.id}/secrets/NAME`;
    await client.call(secret, { method: "PUT", body: { value: "a value" } });
    const ids: Record<string, string> = {
      vault_id: vault.body.id,
      session_id: session.id,
      task_id: waiting.id,
      message_id: message.id,
      artifact_id: artifact.id,
      event_id: event.id,
      branch_id: session.branch_id,
      outcome_id: failed.outcome_id,
      workspace_id: "workspace_default",
      persona_id: "persona_default",
      agent_name: "rehearsal",
      quota_id: (await client.post("/v1/quotas", { scope: "persona", limits: { tasks: 1 } })).body.id,
      key_id: (await client.createKey()).id,
      receipt_id: failed.receipt_id,
      memory_id: (await client.createMemory({ content: "known" })).id,
      skill_id: "rehearsal%2Frehearse",
      connector_id: (await client.createConnector()).id,
      request_id: waiting.waiting_for.permission_request_id,
      nonce: (await client.post("/v1/approvals/pairings", {})).body.nonce,
    };
    // The built-in agents declare no tool; where one is read is another test.
    const paths = Object.entries<Json>(document.paths).flatMap(([path, { get }]) =>
      path === "/v1/tools/{tool_id}" || get?.responses[200]?.content["application/json"] === undefined
        ? []
        : [path],
    );
    assert.ok(paths.length > 25);
    return await Promise.all(
      paths.map(async (path) => {
        const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => ids[name] ?? assert.fail(`no ${name}`));
        const { status, body } = await client.get(filled);
        return { path, status, body };
      }),
    );
  }

  test("DIS-3 given resources of every kind, when they are read, then each answer is as described", async () => {
    for (const { path, status, body } of await readEverything()) assertAsDescribed("GET", path, status, body);
  });

  test("DIS-3 resources of every kind have no undescribed field", async () => {
    // Given resources of every kind, when their fields are compared with the document, then none is undescribed.
    const undescribed = new Set<string>();
    for (const { path, body } of await readEverything()) {
      const { properties } = resolve(
        document.paths[path].get.responses[200].content["application/json"].schema,
      );
      // A schema without properties (the document's own) describes any object.
      if (properties === undefined) continue;
      const isList = body.object === "list";
      const known = isList ? properties.data.items.properties : properties;
      for (const resource of isList ? body.data : [body]) {
        for (const field of Object.keys(resource)) {
          if (!(field in known)) undescribed.add(`${resource.object}.${field}`);
        }
      }
    }
    assert.deepEqual([...undescribed], []);
  });

  test("DIS-3 a message with a redacted part is as described", async () => {
    // Given a part that the caller may not see, when the message is read, then the answer is as described.
    const { id } = await client.createSession({ initial_messages: [userMessage("hidden", "internal")] });
    const reader = await client.withScopes("messages:read", "sessions:read");
    const path = "/v1/sessions/{session_id}/messages";
    const { status, body } = await reader.get(path.replace("{session_id}", id));
    assert.equal(body.data[0].parts[0].redacted, true);
    assertAsDescribed("GET", path, status, body);
  });

  test("DIS-3 given an error, when its body is compared with the document, then it is as described", async () => {
    const { status, body } = await client.get("/v1/sessions/unknown");
    assert.equal(status, 404);
    assertAsDescribed("GET", "/v1/sessions/{session_id}", "default", body);
  });
});
