/** Whose question it is, when several calls are under way. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answering, asUsual, everythingProcess, pidOf } from "../../test/support/mcp-servers/calling.ts";
import { serveEverything } from "../../test/support/mcp-servers/http.ts";
import { createMcp } from "./access.ts";
import type { McpAccess, McpServerSettings } from "./mcp.ts";

async function withServer(
  settings: McpServerSettings,
  run: (mcp: McpAccess) => Promise<void>,
): Promise<void> {
  const mcp = createMcp({ s: settings }, { version: "1.0.0" });
  try {
    await run(mcp);
  } finally {
    await mcp.close();
  }
}

/** A call that asks, the moment when it has asked, and a way to answer. */
function asking(mcp: McpAccess, question: string) {
  const asked = Promise.withResolvers<string>();
  const answer = Promise.withResolvers<string>();
  const abort = new AbortController();
  const done = mcp.call(
    "s",
    "elicits",
    { question },
    asUsual({
      signal: abort.signal,
      onElicitation: async ({ message }) => {
        asked.resolve(message);
        return await answering(await answer.promise)();
      },
    }),
  );
  done.catch(() => {});
  return { asked: asked.promise, answer: answer.resolve, abort: () => abort.abort(), done };
}

async function eachGetsItsOwn(mcp: McpAccess): Promise<void> {
  const calls = ["first", "second", "third"].map((question) => asking(mcp, question));
  assert.deepEqual(await Promise.all(calls.map(({ asked }) => asked)), ["first", "second", "third"]);
  for (const [index, { answer }] of calls.entries()) answer(`answer ${index}`);
  const results = await Promise.all(calls.map(({ done }) => done));
  assert.deepEqual(
    results.map(({ output }) => output),
    ["answer 0", "answer 1", "answer 2"],
  );
}

describe("questions of several calls at once", () => {
  test("MCP-10 with the present protocol each concurrent call gets its own question", async () => {
    // Given a process of the present protocol, when calls ask at once, then each is asked its own.
    await withServer(everythingProcess(), eachGetsItsOwn);
  });

  for (const isLegacy of [false, true]) {
    const which = isLegacy ? "the protocol before" : "the present protocol";
    test(`MCP-10 given HTTP and ${which}, when calls ask at once, then each is asked its own`, async () => {
      await using server = await serveEverything({ isLegacy });
      await withServer({ url: server.url }, eachGetsItsOwn);
    });
  }

  test("MCP-11 an old process's calls that ask in turn run one at a time", async () => {
    // Given an old process, when calls ask one after the other, then they come one at a time.
    await withServer(everythingProcess("--legacy"), async (mcp) => {
      const first = asking(mcp, "first");
      assert.equal(await first.asked, "first");
      const second = asking(mcp, "second");
      let isAsked = false;
      void second.asked.then(() => {
        isAsked = true;
      });
      // What else is called comes after both: the connection has one call at a time now.
      const echo = mcp.call("s", "echo", { text: "last" }, asUsual());
      first.answer("one");
      assert.equal((await first.done).output, "one");
      assert.equal(isAsked, false);
      assert.equal(await second.asked, "second");
      second.answer("two");
      assert.equal((await second.done).output, "two");
      assert.equal((await echo).output, "last");
    });
  });

  test("MCP-11 an old process's call asks only after the other call has ended", async () => {
    // Given an old process with another call under way, when a call asks, then it is asked when the other one has ended.
    await withServer(everythingProcess("--legacy"), async (mcp) => {
      const brief = mcp.call("s", "brief", { ms: 500 }, asUsual({ onElicitation: misdirected }));
      const asker = asking(mcp, "mine");
      assert.equal((await brief).output, "brief");
      assert.equal(await asker.asked, "mine");
      asker.answer("yes");
      assert.equal((await asker.done).output, "yes");
    });
  });

  test("MCP-11 concurrent questions of an old process fail unasked, and a retry succeeds", async () => {
    // Given an old process, when all calls under way ask, then nobody is asked, and their repetition succeeds.
    await withServer(everythingProcess("--legacy"), async (mcp) => {
      await mcp.call("s", "echo", { text: "connected" }, asUsual());
      const both = ["first", "second"].map((question) =>
        mcp.call("s", "elicits", { question }, asUsual({ onElicitation: misdirected })),
      );
      const refused = { code: "mcp_tool_failed", message: /which call this question belongs to/ };
      await Promise.all(both.map((call) => assert.rejects(call, refused)));
      await Promise.all(
        ["first", "second"].map(async (question) => {
          const options = asUsual({ onElicitation: async ({ message }) => await answering(message)() });
          assert.equal((await mcp.call("s", "elicits", { question }, options)).output, question);
        }),
      );
    });
  });

  test("MCP-11 after an old process's asking call is aborted, a new process serves the next call", async () => {
    // Given an old process that asks and a call that was given up, when another call is made, then a new process has it.
    await withServer(everythingProcess("--legacy"), async (mcp) => {
      const before = await pidOf(mcp, "s");
      const first = asking(mcp, "first");
      await first.asked;
      first.abort();
      await assert.rejects(first.done);
      const second = asking(mcp, "second");
      assert.equal(await second.asked, "second");
      second.answer("two");
      assert.equal((await second.done).output, "two");
      assert.notEqual(await pidOf(mcp, "s"), before);
    });
  });
});

async function misdirected(): Promise<never> {
  throw new Error("This call was asked what it should not be");
}
