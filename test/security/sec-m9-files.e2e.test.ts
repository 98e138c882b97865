/** SEC-M9: each tenant has a directory of its own for files, so that they can be counted and no two tenants share one. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FileRefused } from "../../src/files/safe-path.ts";
import { WorkspaceFiles } from "../../src/files/workspace-files.ts";
import { Client } from "../support/client.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

test("SEC-M9 directories of an earlier version move to their tenants at the start, once", async () => {
  await using directory = await temporaryDirectory();
  const data = directory.path;
  const [ours, theirs] = ["workspace_default", "workspace_default.tenant_other"] as const;
  const write = (client: Client, id: string, content: string) =>
    client.call(`/v1/workspaces/${id}/files?path=a.txt`, { method: "PUT", body: { content } });
  let otherKey = "";
  {
    await using server = await startServer({ data });
    const client = new Client(server);
    otherKey = (await client.createKey({ tenant_id: "tenant_other" })).key;
    assert.equal((await write(client, ours, "ours")).status, 200);
    assert.equal((await write(client.as(otherKey), theirs, "theirs")).status, 200);
    assert.equal((await write(client, theirs, "forged")).status, 404);
  }
  const at = (...names: string[]) => join(data, "workspaces", ...names);
  assert.equal(readFileSync(at("tenant_other", theirs, "a.txt"), "utf8"), "theirs");
  // As an earlier version left it, one of them moved already when the process was killed.
  renameSync(at("tenant_default", ours), at(ours));

  for (let start = 0; start < 2; start++) {
    await using server = await startServer({ data });
    const client = new Client(server);
    const path = (id: string) => `/v1/workspaces/${id}/files?path=a.txt`;
    assert.equal((await client.get(path(ours))).body.content, "ours");
    assert.equal((await client.as(otherKey).get(path(theirs))).body.content, "theirs");
    assert.deepEqual(readdirSync(at()).sort(), ["tenant_default", "tenant_other"]);
  }
});

test("SEC-M9 two tenants reach no common directory by any id", async () => {
  await using directory = await temporaryDirectory();
  const files = new WorkspaceFiles({ directory: directory.path });
  const place = (tenantId: string, id: string) => ({ tenantId, id, root: ".", mayUseRoots: false });
  await files.write(place("a", "b"), "x.txt", "of a");
  await files.write(place("b", "b"), "x.txt", "of b");
  assert.equal(readFileSync(join(directory.path, "a", "b", "x.txt"), "utf8"), "of a");
  for (const [tenantId, id] of [
    ["b", "../a/b"],
    ["..", "a"],
    ["b/..", "a"],
    ["", "a"],
    [".", "b"],
    ["b", "."],
  ] as const) {
    await assert.rejects(files.read(place(tenantId, id), "x.txt"), FileRefused, `${tenantId} ${id}`);
    await files.erase(place(tenantId, id));
  }
  await files.erase(place("b", "b"));
  assert.ok(existsSync(join(directory.path, "a", "b", "x.txt")));
  assert.ok(!existsSync(join(directory.path, "b", "b")));
});
