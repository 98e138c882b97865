/** Connections that are made late, break, come back, and end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, test } from "node:test";
import { Server } from "@modelcontextprotocol/server";
import { pino } from "pino";
import {
  asUsual,
  everythingProcess,
  failing,
  never,
  pidOf,
  processRuns,
} from "../../test/support/mcp-servers/calling.ts";
import { emptyMemory } from "../../test/support/mcp-servers/everything.ts";
import { serveEverything, serveMcp } from "../../test/support/mcp-servers/http.ts";
import { createMcp } from "./access.ts";
import type { McpAccess, McpServerSettings } from "./mcp.ts";

const version = "1.0.0";

async function withServers(
  servers: Record<string, McpServerSettings>,
  run: (mcp: McpAccess) => Promise<void>,
): Promise<void> {
  const mcp = createMcp(servers, { version });
  try {
    await run(mcp);
  } finally {
    await mcp.close();
  }
}

const said = (text: string) => ({ text });

describe("a connection that breaks", () => {
  for (const flags of [[], ["--legacy"]]) {
    test(`MCP-12 a new process answers after a process ${flags.join()} dies during a call`, async () => {
      // Given a process ${flags.join()} that dies in the middle of a call, when it is called again, then a new one
      // answers.
      await withServers({ s: everythingProcess(...flags) }, async (mcp) => {
        const before = await pidOf(mcp, "s");
        const broken = failing("mcp_unavailable", true);
        const echo = mcp.call("s", "brief", { ms: 20_000 }, asUsual());
        await Promise.all([
          assert.rejects(echo, broken),
          assert.rejects(mcp.call("s", "crashes", {}, asUsual()), broken),
        ]);
        assert.equal(processRuns(before), false);
        assert.equal((await mcp.call("s", "echo", said("again"), asUsual())).output, "again");
        assert.notEqual(await pidOf(mcp, "s"), before);
      });
    });
  }

  for (const isLegacy of [false, true]) {
    const which = isLegacy ? "of the protocol before" : "of the present protocol";
    test(`MCP-12 a broken stream ${which} fails the call at once and the next succeeds`, async () => {
      // Given a stream ${which}, when it breaks off before the answer, then the call fails at once and the next
      // succeeds.
      await using server = await serveEverything({ isLegacy });
      await withServers({ s: { url: server.url } }, async (mcp) => {
        const options = asUsual({ onProgress: () => server.breakConnections() });
        await assert.rejects(mcp.call("s", "slow", {}, options), failing("mcp_unavailable", true));
        assert.equal((await mcp.call("s", "echo", said("again"), asUsual())).output, "again");
      });
    });
  }

  test("MCP-13 calls on forgotten sessions run once each in one new session", async () => {
    // Given sessions that the server has forgotten, when calls are made, then one new session has each of them once.
    const memory = emptyMemory();
    await using server = await serveEverything({ isLegacy: true, memory });
    await withServers({ s: { url: server.url } }, async (mcp) => {
      await mcp.tools("s", never);
      const [old] = server.sessions.keys();
      server.forgetSessions();
      const keys = ["a", "b", "c"];
      const calls = keys.map((idempotencyKey) =>
        mcp.call("s", "echo", said(idempotencyKey), asUsual({ idempotencyKey })),
      );
      assert.deepEqual(
        (await Promise.all(calls)).map(({ output }) => output),
        keys,
      );
      assert.deepEqual(memory.seen, { a: 1, b: 1, c: 1 });
      assert.equal(server.sessions.size, 1);
      assert.equal(server.sessions.has(old ?? ""), false);
    });
  });
});

describe("a server that cannot be reached", () => {
  const ending = { command: process.execPath, args: ["--eval", "process.exit(1)"] };
  const nowhere: [string, McpServerSettings, RegExp][] = [
    ["a program that is not there", { command: "/nowhere/to/be/found" }, /its command was not found\.$/],
    ["a program that ends at once", ending, /its connection broke\.$/],
    ["a port where nobody listens", { url: "http://127.0.0.1:1/mcp" }, /\.$/],
  ];
  for (const [what, settings, why] of nowhere) {
    test(`MCP-14 ${what} fails both calls with a sentence, the second after a pause`, async () => {
      // Given ${what}, when it is called twice, then both fail with a sentence, the second after a pause.
      await withServers({ s: settings }, async (mcp) => {
        const expected = {
          ...failing("mcp_unavailable"),
          message: new RegExp(`^The MCP server s cannot be reached: .*${why.source}`),
        };
        await assert.rejects(mcp.call("s", "echo", said(""), asUsual()), expected);
        const before = performance.now();
        await assert.rejects(mcp.tools("s", never), expected);
        assert.ok(performance.now() - before > 200);
      });
    });
  }

  test("MCP-14, MCP-16 abort ends unanswered calls at once and close ends a starting process", async () => {
    // Given servers that never answer, when nobody waits any more, then calls end at once, and closing ends a process
    // that is just being asked.
    const sockets: Socket[] = [];
    const silent = createServer((socket) => void sockets.push(socket.on("error", () => {})));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : null;
    const mcp = createMcp(
      {
        http: { url: `http://127.0.0.1:${port}/mcp` },
        // It has a connection as long as it runs.
        process: { command: process.execPath, args: ["--eval", `require("net").connect(${port})`] },
      },
      { version },
    );
    const abort = new AbortController();
    const calls = mcp.servers.map((name) =>
      mcp.call(name, "echo", said(""), asUsual({ signal: abort.signal })),
    );
    while (sockets.length < 2) await once(silent, "connection");
    const reason = new Error("enough");
    abort.abort(reason);
    await Promise.all(calls.map((call) => assert.rejects(call, reason)));
    const gone = sockets.map((socket) => once(socket.resume(), "close"));
    await mcp.close();
    await Promise.all(gone);
    silent.close();
  });

  test("MCP-14 the error for refused credentials does not repeat them", async () => {
    // Given a server that refuses the credentials, when it is called, then it says so without them.
    await using server = await serveMcp(() => {
      throw new Error("never asked");
    });
    server.refuse(401);
    const headers = { Authorization: "Bearer hunter2-hunter2" };
    await withServers({ s: { url: server.url, headers } }, async (mcp) => {
      await assert.rejects(mcp.tools("s", never), {
        ...failing("mcp_protocol_error"),
        message: "The MCP server s refused the credentials (HTTP 401).",
      });
    });
  });
});

describe("what goes along", () => {
  test("MCP-17 given headers, when requests are made, then each has them", async () => {
    await using server = await serveEverything({ isLegacy: true });
    await withServers({ s: { url: server.url, headers: { "X-Key": "hunter2" } } }, async (mcp) => {
      await mcp.call("s", "echo", said("hello"), asUsual());
    });
    assert.ok(server.asked.length >= 4);
    assert.deepEqual(new Set(server.asked.map((headers) => headers.get("x-key"))), new Set(["hunter2"]));
  });

  test("MCP-15 a process has a minimal environment and its stderr is logged redacted", async () => {
    // Given a process, when it runs, then it has a minimal environment and its standard error is logged without what it
    // was told.
    const lines: string[] = [];
    const { promise: logged, resolve } = Promise.withResolvers<string>();
    const write = (line: string) => {
      lines.push(line);
      resolve(line);
    };
    const logger = pino({ level: "debug" }, { write });
    const env = { GREETING: "hunter2-hunter2" };
    const mcp = createMcp({ s: { ...everythingProcess(), env } }, { version, logger });
    process.env.BRIDLE_TEST_SECRET = "not for others";
    const { output } = await mcp.call("s", "environment", {}, asUsual());
    delete process.env.BRIDLE_TEST_SECRET;
    const allowed = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "GREETING"];
    const { names } = JSON.parse(String(output));
    assert.ok(names.includes("GREETING") && names.includes("PATH"));
    assert.deepEqual(
      names.filter((name: string) => !allowed.includes(name)),
      [],
    );
    const { level, mcpServer, line } = JSON.parse(await logged);
    assert.deepEqual([level, mcpServer, line], [20, "s", "everything is ready, [redacted]"]);
    await mcp.close();
    assert.ok(!lines.join("").includes("hunter2"));
  });
});

describe("lists", () => {
  for (const isLegacy of [false, true]) {
    const which = isLegacy ? "the protocol before" : "the present protocol";
    test(`MCP-3 with ${which} a tool that a process adds is listed and callable`, async () => {
      // Given ${which}, when a process gets one more tool, then it is listed and can be called.
      await withServers({ s: everythingProcess(...(isLegacy ? ["--legacy"] : [])) }, async (mcp) => {
        const before = await mcp.tools("s", never);
        await mcp.call("s", "grows", { name: "new" }, asUsual());
        const names = async () => (await mcp.tools("s", never)).map(({ name }) => name);
        const deadline = performance.now() + 30_000;
        while (!(await names()).includes("new")) {
          assert.ok(performance.now() < deadline, "the new tool is listed");
          await new Promise((resolve) => setImmediate(resolve));
        }
        assert.equal((await names()).length, before.length + 1);
        assert.equal((await mcp.call("s", "new", {}, asUsual())).output, "new");
      });
    });
  }

  test("MCP-3 a list of several pages is complete and fetched once for two reads", async () => {
    // Given a list of several pages, when it is read twice, then all pages are there and were asked for once.
    const asked: (string | undefined)[] = [];
    await using server = await serveMcp(() =>
      paged((cursor) => {
        asked.push(cursor);
        return cursor === undefined ? "2" : cursor === "2" ? "3" : undefined;
      }),
    );
    await withServers({ s: { url: server.url } }, async (mcp) => {
      const [tools] = await Promise.all([mcp.tools("s", never), mcp.tools("s", never)]);
      assert.deepEqual(
        tools.map(({ name }) => name),
        ["tool-1", "tool-2", "tool-3"],
      );
      await mcp.tools("s", never);
      assert.deepEqual(asked, [undefined, "2", "3"]);
    });
  });

  test("MCP-3 given a list without an end, when it is read, then it is refused", async () => {
    await using server = await serveMcp(() => paged((cursor = "1") => `${Number(cursor) + 1}`));
    await withServers({ s: { url: server.url } }, async (mcp) => {
      await assert.rejects(mcp.tools("s", never), failing("mcp_protocol_error"));
    });
  });
});

/** One tool per page; `next` says which page follows. */
function paged(next: (cursor: string | undefined) => string | undefined): Server {
  const server = new Server({ name: "paged", version }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", ({ params }) => {
    const nextCursor = next(params?.cursor);
    const tools = [{ name: `tool-${params?.cursor ?? "1"}`, inputSchema: { type: "object" as const } }];
    return nextCursor === undefined ? { tools } : { tools, nextCursor };
  });
  return server;
}

describe("closing", () => {
  test("MCP-16 closing leaves no process and no session", async () => {
    // Given open connections, when they are closed, then no process and no session is left.
    await using server = await serveEverything({ isLegacy: true });
    const mcp = createMcp(
      {
        process: everythingProcess(),
        stubborn: everythingProcess("--legacy", "--stubborn"),
        http: { url: server.url },
      },
      { version },
    );
    const pids = await Promise.all([pidOf(mcp, "process"), pidOf(mcp, "stubborn")]);
    await mcp.tools("http", never);
    assert.deepEqual([pids.map(processRuns), server.sessions.size], [[true, true], 1]);
    await mcp.close();
    assert.deepEqual([pids.map(processRuns), server.sessions.size], [[false, false], 0]);
    await mcp.close();
    for (const name of mcp.servers) {
      await assert.rejects(mcp.tools(name, never), {
        ...failing("mcp_unavailable"),
        message: /connections were closed/,
      });
    }
  });
});
