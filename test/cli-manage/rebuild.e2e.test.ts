/** `bridle rebuild`: documents that are not what the log says are found, and put right. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, temporaryDirectory } from "../support/server.ts";

describe("bridle rebuild", () => {
  test("CMD-59, CMD-60 rebuild repairs changed, lost and made-up documents, and a server goes on", async () => {
    // Given documents that were changed, lost and made up, when the directory is rebuilt, then they are found, put right
    // in one go, and a server goes on with them.
    await using place = await temporaryDirectory();
    const data = join(place.path, "data");
    const rebuild = (...args: string[]) => bridle(["rebuild", "--data", data, ...args]);
    assert.match(errorLine(await rebuild("--check"), 1), /holds no data of a server/);

    const server = await startServer({ data });
    const client = new Client(server);
    const session = await client.createSession();
    const task = await client.rehearse(session.id, "say hello", "return done");
    assert.match(errorLine(await rebuild("--check"), 1), /is using the data directory/);
    assert.equal(await server.stop(), 0);
    assert.match(
      succeeded(await rebuild("--check")),
      /^\d+ documents of \d+ events: each is what the log says\.$/m,
    );

    const db = new DatabaseSync(join(data, "bridle.db"));
    db.exec(`UPDATE documents SET body = json_set(body, '$.status', 'FAILED') WHERE id = '${task.id}'`);
    db.exec(`DELETE FROM documents WHERE id = '${session.id}'`);
    db.exec(`INSERT INTO documents (id, kind, tenant_id, version, sequence, born, body)
             VALUES ('message_made_up', 'message', 'tenant_default', 1, 0, 1, '{}')`);
    db.close();
    const found = await rebuild("--check", "--json");
    assert.equal(found.code, 1);
    const { differences, is_repaired } = JSON.parse(found.stdout);
    assert.equal(is_repaired, false);
    assert.deepEqual(differences.map(({ what, id }: { what: string; id: string }) => [what, id]).sort(), [
      ["different", task.id],
      ["missing", session.id],
      ["unfounded", "message_made_up"],
    ]);
    assert.match((await rebuild("--check")).stdout, new RegExp(`^different +task +${task.id}$`, "m"));

    assert.match(succeeded(await rebuild()), /3 are put right\.$/m);
    await assertRebuildable(data);
    await using again = await startServer({ data });
    const other = new Client(again);
    assert.equal((await other.get(`/v1/tasks/${task.id}`)).body.status, "COMPLETED");
    const next = await other.rehearse(session.id, "return more");
    assert.equal(next.status, "COMPLETED");
    assert.equal(await again.stop(), 0);
    await assertRebuildable(data);
  });
});
