/** A stream of events outlives the server that it came from. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "../../src/sdk/client/index.ts";
import { Client } from "../support/client.ts";
import { adminKey, startProcess, temporaryDirectory } from "../support/server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const lines = [...Array.from({ length: 15 }, (_, n) => `say ${n}\nsleep 20`), "ask Go on?", "say On"];

test("CLT-4 an event stream survives a server crash and a silent line without loss or repeats", async () => {
  // Given a stream of events, when the server is killed in the middle of it and comes back, and later a connection falls
  // silent, then no event is missing and none comes twice.
  await using data = await temporaryDirectory();
  let server = await startProcess({ data: data.path });
  await using proxy = await startTcpProxy(server.url);
  try {
    const bridle = createClient({ url: proxy.url, key: adminKey });
    const task = await bridle.tasks.submit({ agent: "rehearsal", input: lines.join("\n") });
    const seen: string[] = [];
    let restarted: Promise<void> | null = null;
    let connectionsBefore = Number.POSITIVE_INFINITY;
    for await (const event of bridle.tasks.events(task.id, { silenceMs: 2000 })) {
      seen.push(event.id);
      if (seen.length === 20) {
        await server.kill();
        // Not waited for: meanwhile there is nobody to connect to.
        restarted = startProcess({ data: data.path }).then((next) => {
          server = next;
          proxy.leadTo(next.url);
        });
      }
      if (event.event === "task.input_required") {
        await restarted;
        connectionsBefore = proxy.connections();
        proxy.silence();
        assert.equal((await new Client(server).answer(task.id, "yes")).status, 201);
      }
    }
    assert.ok(proxy.connections() > connectionsBefore, "it went on over another connection");
    const recorded = await new Client(server).listAll(`/v1/events?task_id=${task.id}`);
    assert.deepEqual(
      seen,
      recorded.map(({ id }) => id),
    );
  } finally {
    await server[Symbol.asyncDispose]();
  }
});
