/** Witnessed receipts: checkpoints, consistency between any two of them, and a server that forks its history. */

import assert from "node:assert/strict";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { isConsistent } from "../src/receipts/consistency.ts";
import {
  appendLeaf,
  consistencyProof,
  nodeHash,
  rootFromNodes,
  type TreeNodes,
} from "../src/receipts/merkle.ts";
import { verifyCheckpoint, verifyConsistency } from "../src/sdk/verify/index.ts";
import { cases, randomFrom } from "./runner/seed.ts";
import { bridle } from "./support/cli.ts";
import { Client, errorOf, type Json } from "./support/client.ts";
import { adminKey, startServer, type TestServer, temporaryDirectory } from "./support/server.ts";

const workspace = "workspace_default";
const path = `/v1/workspaces/${workspace}/checkpoint`;

async function work(client: Client, count: number): Promise<void> {
  const session = await client.createSession();
  for (let n = 0; n < count; n++) await client.rehearse(session.id, `return ${n} ${Math.random()}`);
}

describe("Trees", () => {
  test("WIT-2 every pair of sizes has a proof, and a changed one is refused", async () => {
    const random = randomFrom();
    const leaves = Array.from({ length: 40 }, (_, n) => `sha256:${n.toString(16).padStart(64, "0")}`);
    const nodes = treeOf(leaves);
    for (let n = 0; n < cases(800); n++) {
      const second = 1 + Math.floor(random() * leaves.length);
      const first = Math.floor(random() * (second + 1));
      const proof = {
        first: { size: first, root: await rootFromNodes(nodes, first) },
        second: { size: second, root: await rootFromNodes(nodes, second) },
        path: await consistencyProof(nodes, first, second),
      };
      assert.ok(await isConsistent(proof, nodeHash), `${first} of ${second}`);
      assert.ok(await verifyConsistency(proof));
      if (first === 0) continue;
      const other = { ...proof.first, root: leaves[3] ?? "" };
      assert.equal(await verifyConsistency({ ...proof, first: other }), false);
      if (first === second) continue;
      assert.equal(await verifyConsistency({ ...proof, path: proof.path.slice(1) }), false);
      assert.equal(await verifyConsistency({ ...proof, path: [...proof.path, leaves[0] ?? ""] }), false);
    }
  });
});

/** Made of whole frontiers: slow, and plainly right. */
function treeOf(leaves: readonly string[]): TreeNodes {
  return {
    async node(level, index) {
      const size = 2 ** level;
      let frontier: readonly string[] = [];
      for (const [n, leaf] of leaves.slice(index * size, (index + 1) * size).entries()) {
        frontier = appendLeaf(frontier, n, leaf).frontier;
      }
      return frontier[0] ?? "";
    },
  };
}

describe("Witnesses", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: TestServer;
  let client: Client;
  before(async () => {
    directory = await temporaryDirectory();
    server = await startServer({ data: join(directory.path, "data") });
    client = new Client(server);
    await work(client, 3);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const logKey = async (): Promise<Json> => (await client.get("/.well-known/jwks.json")).body.keys[0];

  test("WIT-1 WIT-2 a checkpoint verifies, now and as it was, and the one goes on from the other", async () => {
    const { status, headers, body } = await client.get(path);
    assert.equal(status, 200);
    assert.match(headers.get("content-type") ?? "", /^text\/plain/);
    const [origin = ""] = String(body).split("\n");
    const key = { name: origin, kind: "log" as const, jwk: await logKey() };
    const now = await verifyCheckpoint(body, [key]);
    assert.equal(now?.signers.length, 1);
    const { size } = now?.checkpoint ?? { size: 0 };
    assert.ok(size >= 3);
    const earlier = await verifyCheckpoint((await client.get(`${path}?size=2`)).body, [key]);
    assert.equal(earlier?.checkpoint.size, 2);
    const proof = (await client.get(`${path}/consistency?from=2&to=${size}`)).body;
    assert.ok(
      await verifyConsistency({
        first: earlier?.checkpoint ?? { size: 0, root: "" },
        second: now?.checkpoint ?? { size: 0, root: "" },
        path: proof.path,
      }),
    );
    const forged = String(body).replace(`\n${size}\n`, `\n${size + 1}\n`);
    assert.deepEqual((await verifyCheckpoint(forged, [key]))?.signers, []);
    errorOf(await client.get(`${path}?size=${size + 1}`), 400);
    errorOf(await client.get(`${path}/consistency?from=3&to=2`), 400);
  });

  test("WIT-4 without receipts:read, or for another's workspace, there is no checkpoint", async () => {
    const { key } = await client.createKey({ scopes: ["tasks:read"] });
    errorOf(await client.as(key).get(path), 403);
    errorOf(await client.as(key).get(`${path}/consistency?from=0&to=0`), 403);
    errorOf(await client.get("/v1/workspaces/workspace_other/checkpoint"), 404);
  });

  test("WIT-3 a witness signs what goes on, and notices a server that forks its history", async () => {
    const state = join(directory.path, "witness");
    const witness = (url: string) =>
      bridle(["witness", url, "--once", "--json", "--state", state, "--name", "alice"], {
        env: { BRIDLE_KEY: adminKey },
      });
    const first = await witness(server.url);
    assert.equal(first.code, 0, first.stderr);
    await work(client, 1);
    // From here on there are two histories under one key.
    await server.stop();
    const fork = join(directory.path, "fork");
    await cp(server.data, fork, { recursive: true });
    server = await startServer({ data: server.data, flags: ["--port", new URL(server.url).port] });
    client = new Client(server);
    await work(client, 2);
    const second = await witness(server.url);
    assert.equal(second.code, 0, second.stderr);
    const signed = JSON.parse(second.stdout);
    assert.match(signed.note, /\n— alice \S+\n$/);

    const port = new URL(server.url).port;
    await server.stop();
    server = await startServer({ data: fork, flags: ["--port", port] });
    client = new Client(server);
    await work(client, 4);
    const third = await witness(server.url);
    assert.equal(third.code, 1, third.stdout);
    assert.match(JSON.parse(third.stdout).alarm, /rewritten: its first \d+ receipts are not those/);
    const kept = (await readdir(state)).filter((name) => name.startsWith("rewritten-")).sort();
    assert.equal(kept.length, 2);
    const [evidence = ""] = kept;
    assert.equal(await readFile(join(state, evidence), "utf8"), signed.note, "what it had signed is kept");
  });
});
