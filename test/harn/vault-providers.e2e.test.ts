/** Vaults whose secrets are elsewhere: environment variables, mounted files, a HashiCorp Vault. */

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { defineAgent, Type } from "bridle";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const seen: string[] = [];
const reader = defineAgent({
  name: "reader",
  version: "1.0.0",
  input: Type.Object({ name: Type.String(), vault: Type.String() }),
  async run(ctx) {
    const value = await ctx.secret(ctx.input.name, { vault: ctx.input.vault });
    seen.push(value);
    return value.length;
  },
});

let server: TestServer;
let client: Client;
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
before(async () => {
  directory = await temporaryDirectory();
  const mounted = join(directory.path, "mounted");
  mkdirSync(join(mounted, "..data"), { recursive: true });
  writeFileSync(join(mounted, "..data", "db-password"), "from-a-file-1\n");
  symlinkSync("..data/db-password", join(mounted, "db-password"));
  writeFileSync(join(directory.path, "outside"), "not-yours");
  symlinkSync("../outside", join(mounted, "outside"));
  process.env.BRIDLE_SECRET_API_TOKEN = "from-the-environment-1";
  process.env.BRIDLE_SECRETIVE = "no";
  server = await startServer({
    config: { agents: [reader], allowPrivateAddresses: true },
    flags: ["--vault-env-prefix", "BRIDLE_", "--vault-files", mounted],
  });
  client = new Client(server);
});
after(async () => {
  delete process.env.BRIDLE_SECRET_API_TOKEN;
  delete process.env.BRIDLE_SECRETIVE;
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

async function create(body: object): Promise<Json> {
  const { status, body: vault } = await client.post("/v1/vaults", { capabilities: ["read"], ...body });
  assert.equal(status, 201, JSON.stringify(vault));
  return vault;
}

/** What a run is given; the code of its failure where it is given nothing. */
async function read(vault: string, name: string): Promise<string> {
  const { id: session_id } = await client.createSession();
  const task = { session_id, persona_id: "persona_reader", input: { name, vault } };
  const { body } = await client.post("/v1/tasks", task);
  const { status, failure } = await client.untilTask(body.id, isFinal);
  return status === "COMPLETED" ? (seen.at(-1) ?? "") : failure.code;
}

test("VLT-10 env and file vaults give what the operator offers, and nothing beside it", async () => {
  const env = await create({ provider: "env" });
  assert.equal(await read(env.id, "SECRET_API_TOKEN"), "from-the-environment-1");
  for (const name of ["SECRETIVE", "API_KEY", "SECRET_NONE"])
    assert.equal(await read(env.id, name), "secret_unavailable", name);
  const files = await create({ provider: "file" });
  assert.equal(await read(files.id, "db-password"), "from-a-file-1");
  for (const name of ["outside", "none"]) assert.equal(await read(files.id, name), "secret_unavailable");
  const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
  for (const provider of ["env", "file"])
    errorOf(await stranger.post("/v1/vaults", { provider, capabilities: ["read"] }), 400);
  const scopes = ["vaults:write"];
  const bound = client.as((await client.createKey({ scopes, workspace_ids: ["workspace_default"] })).key);
  const mine = { capabilities: ["read"], workspace_id: "workspace_default" };
  for (const provider of ["env", "file"]) errorOf(await bound.post("/v1/vaults", { ...mine, provider }), 403);
  assert.equal((await bound.post("/v1/vaults", { ...mine, provider: "local" })).status, 201);
  // A write would be a promise that nobody keeps.
  const path = `/v1/vaults/${env.id}/secrets/a`;
  errorOf(await client.call(path, { method: "PUT", body: { value: "x" } }), 422);
});

test("VLT-10 hashicorp reads KV version 2 with a token or an AppRole, whose token is used again", async () => {
  const asked: string[] = [];
  const vaultServer = createServer((request, response) => {
    const { url = "", method = "", headers } = request;
    const token = headers["x-vault-token"];
    asked.push(`${method} ${url} ${headers["x-vault-namespace"] ?? "-"}`);
    const answer = (status: number, body: object) => {
      response.statusCode = status;
      response.end(JSON.stringify(body));
    };
    if (url === "/v1/auth/approle/login") {
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.on("end", () =>
        JSON.parse(text).secret_id === "right-secret-id"
          ? answer(200, { auth: { client_token: "role-token", lease_duration: 3600 } })
          : answer(400, { errors: ["invalid secret id"] }),
      );
      return;
    }
    if (token !== "root-token-1" && token !== "role-token") return answer(403, { errors: [] });
    if (url !== "/v1/kv/data/apps/site") return answer(404, { errors: [] });
    answer(200, { data: { data: { password: "from-hashicorp-1" }, metadata: { version: 7 } } });
  });
  await new Promise<void>((resolve) => vaultServer.listen(0, "127.0.0.1", resolve));
  const at = vaultServer.address();
  const address = `http://127.0.0.1:${typeof at === "object" ? at?.port : 0}`;
  const source = { address, mount: "kv", path: "apps/site", namespace: "team" };
  const of = (login: object, more: object = {}) =>
    create({ provider: "hashicorp", source: { ...source, ...more }, login });

  const byToken = await of({ token: "root-token-1" });
  assert.doesNotMatch(JSON.stringify(byToken), /root-token-1/);
  assert.equal(await read(byToken.id, "password"), "from-hashicorp-1");
  assert.equal(await read(byToken.id, "none"), "secret_unavailable");
  const byRole = await of({ role_id: "site", secret_id: "right-secret-id" });
  for (const _ of [1, 2]) assert.equal(await read(byRole.id, "password"), "from-hashicorp-1");
  assert.deepEqual(asked.slice(-3), [
    "POST /v1/auth/approle/login team",
    "GET /v1/kv/data/apps/site team",
    "GET /v1/kv/data/apps/site team",
  ]);
  const wrong = await of({ role_id: "site", secret_id: "wrong-secret-id" });
  assert.equal(await read(wrong.id, "password"), "secret_unavailable");
  const log = JSON.stringify(await client.listAll("/v1/events"));
  for (const secret of ["root-token-1", "right-secret-id", "from-hashicorp-1"])
    assert.ok(!log.includes(secret), secret);
  vaultServer.closeAllConnections();
  vaultServer.close();
});

test("VLT-11 a vault keeps its capabilities; sources and providers that do not fit are refused", async () => {
  const capabilities = ["read", "rotate", "custom.thing"];
  assert.deepEqual((await create({ provider: "local", capabilities })).capabilities, capabilities);
  const refused: [object, string][] = [
    [{ provider: "aws" }, "provider"],
    [{ provider: "hashicorp" }, "source"],
    [{ provider: "hashicorp", source: { address: "https://v.example.com", path: "a" } }, "login"],
    [{ provider: "local", login: { token: "t" } }, "login"],
    [{ provider: "hashicorp", source: { address: "https://v.example.com", path: "../sys" } }, "source.path"],
  ];
  for (const [body, param] of refused) {
    const answer = await client.post("/v1/vaults", { capabilities: ["read"], ...body });
    assert.equal(errorOf(answer, 400).param, param, JSON.stringify(body));
  }
});
