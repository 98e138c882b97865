/** Calls, over each of the ways to a server: a process or HTTP, the present protocol or the one before it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  answering,
  asUsual,
  everythingProcess,
  failing,
  never,
  remembered,
} from "../../test/support/mcp-servers/calling.ts";
import { type HttpMcpServer, serveEverything } from "../../test/support/mcp-servers/http.ts";
import { createMcp } from "./access.ts";
import type { Elicitation, McpAccess } from "./mcp.ts";

let mcp: McpAccess;
let servers: HttpMcpServer[];
before(async () => {
  servers = [await serveEverything(), await serveEverything({ isLegacy: true })];
  const [present, legacy] = servers;
  mcp = createMcp(
    {
      "a-process": { ...everythingProcess(), effects: { echo: "reversible", slow: "none" } },
      "an-old-process": everythingProcess("--legacy"),
      "an-old-process-that-asks": everythingProcess("--legacy"),
      http: { url: present?.url ?? "", timeoutMs: 20_000 },
      "old-http": { url: legacy?.url ?? "" },
    },
    { version: "1.0.0" },
  );
});
after(async () => {
  await mcp.close();
  for (const server of servers) await server[Symbol.asyncDispose]();
});

for (const way of ["a-process", "an-old-process", "http", "old-http"]) {
  describe(way, () => {
    // After a question, every call that is given up means a new process, which remembers nothing.
    const asking = way === "an-old-process" ? "an-old-process-that-asks" : way;

    test("TRC-6 a traced call passes its trace in the call and in the headers, if any", async () => {
      // Given a call that is part of a trace, when the server is asked, then it is told in the call, and in the headers
      // where there are some.
      const traceOf = async (trace: Record<string, string>) => {
        const { output } = await mcp.call(way, "environment", {}, asUsual({ trace }));
        return JSON.parse(String(output)).trace;
      };
      const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
      const header = way.includes("http") ? { header: traceparent } : {};
      assert.deepEqual(await traceOf({ traceparent }), { meta: traceparent, ...header });
      assert.deepEqual(await traceOf({}), way.includes("http") ? { header: null } : {});
    });

    test("MCP-2 listed tools have schemas and effects from their annotations", async () => {
      // Given tools with annotations, when they are listed, then schemas and effects are there.
      const tools = await mcp.tools(way, never);
      const add = tools.find(({ name }) => name === "add");
      assert.equal(add?.server, way);
      assert.equal(add?.description, "Adds two numbers");
      assert.deepEqual(add?.input.required, ["a", "b"]);
      assert.deepEqual(add?.output?.required, ["sum"]);
      const effectOf = (tool: string) => tools.find(({ name }) => name === tool)?.effect;
      const effects = ["echo", "add", "slow", "fails"].map(effectOf);
      // The settings of one of them say something else.
      const expected =
        way === "a-process"
          ? ["reversible", "reversible", "none", "irreversible"]
          : ["none", "reversible", "irreversible", "irreversible"];
      assert.deepEqual(effects, expected);
    });

    test("MCP-5 given results of each kind, when they come, then they are what the server said", async () => {
      const outputOf = async (tool: string, input = {}) =>
        (await mcp.call(way, tool, input, asUsual())).output;
      assert.equal(await outputOf("echo", { text: "hello" }), "hello");
      assert.deepEqual(await outputOf("add", { a: 2, b: 3 }), { sum: 5 });
      assert.deepEqual(await outputOf("picture"), [
        { type: "text", text: "A dot" },
        { type: "image", data: "AAAA", mimeType: "image/png" },
      ]);
    });

    test("MCP-5 given a result that is too large, when it comes, then the call fails with a sentence", async () => {
      const { output } = await mcp.call(way, "large", { bytes: 1024 * 1024 - 2 }, asUsual());
      assert.equal(String(output).length, 1024 * 1024 - 2);
      await assert.rejects(mcp.call(way, "large", { bytes: 1024 * 1024 - 1 }, asUsual()), {
        ...failing("mcp_tool_failed", true),
        message: "The result of the tool large has more than 1048576 bytes as JSON.",
      });
    });

    test("MCP-6 a failing tool fails the call with the tool's message", async () => {
      // Given a tool that fails, when it is called, then the call fails with what the tool said.
      const message = "The printer is out of paper.";
      await assert.rejects(mcp.call(way, "fails", {}, asUsual()), { ...failing("mcp_tool_failed"), message });
    });

    test("MCP-6 given a tool that is not there, when it is called, then it is said to be unknown", async () => {
      await assert.rejects(mcp.call(way, "nothing", {}, asUsual()), failing("mcp_unknown"));
    });

    test("MCP-7 a call that takes too long times out and the server is notified", async () => {
      // Given a call that takes too long, when its time is over, then it fails and the server hears of it.
      const call = mcp.call(way, "slow", {}, asUsual({ timeoutMs: 300 }));
      await assert.rejects(call, {
        ...failing("mcp_timeout", true),
        message: `The tool slow of the MCP server ${way} did not answer within 300 ms.`,
      });
      await remembered(mcp, way, { slow: 1, cancelled: 1 });
    });

    test("MCP-8, MCP-9 aborting a call in progress throws the reason and notifies the server", async () => {
      // Given a call that tells its progress, when its signal is aborted, then its reason is thrown and the server hears
      // of it.
      const abort = new AbortController();
      const reason = new Error("nobody wants it any more");
      const told: object[] = [];
      const onProgress = (progress: object) => {
        told.push(progress);
        abort.abort(reason);
      };
      await assert.rejects(mcp.call(way, "slow", {}, asUsual({ signal: abort.signal, onProgress })), reason);
      assert.deepEqual(told, [{ message: "a quarter", percent: 25 }]);
      await remembered(mcp, way, { slow: 2, cancelled: 2 });
      await assert.rejects(mcp.call(way, "echo", { text: "" }, asUsual({ signal: abort.signal })), reason);
    });

    test("MCP-9 a repeated call sends its idempotency key to the server again", async () => {
      // Given an idempotency key, when a call is repeated with it, then the server sees it twice.
      const options = asUsual({ idempotencyKey: "repeated" });
      await mcp.call(way, "echo", { text: "once" }, options);
      await mcp.call(way, "echo", { text: "twice" }, options);
      const { output } = await mcp.call(way, "counts", {}, asUsual());
      assert.equal(Object(Object(output).seen).repeated, 2);
    });

    test("MCP-10 given a question, when it is answered, declined or fails, then so goes the call", async () => {
      const asked: Elicitation[] = [];
      const ask = (onElicitation: () => ReturnType<ReturnType<typeof answering>>) =>
        mcp.call(
          asking,
          "elicits",
          { question: "Really?" },
          asUsual({
            onElicitation: async (question) => {
              asked.push(question);
              return await onElicitation();
            },
          }),
        );
      assert.equal((await ask(answering("yes"))).output, "yes");
      assert.equal(asked[0]?.message, "Really?");
      assert.deepEqual(asked[0]?.schema.properties, { answer: { type: "string" } });
      assert.equal((await ask(async () => ({ action: "decline" }))).output, "no answer");
      assert.equal((await ask(async () => ({ action: "cancel" }))).output, "no answer");
      const broken = new Error("nobody is there");
      await assert.rejects(
        ask(() => Promise.reject(broken)),
        broken,
      );
    });

    test("MCP-10 a call continues after a person's answer that takes longer than its timeout", async () => {
      // Given a person who takes longer than the call may, when the answer comes, then the call goes on.
      const timeoutMs = 1500;
      const onElicitation = async () => {
        await new Promise((resolve) => setTimeout(resolve, timeoutMs + 200));
        return await answering("at last")();
      };
      const { output } = await mcp.call(
        asking,
        "elicits",
        { question: "?" },
        asUsual({ timeoutMs, onElicitation }),
      );
      assert.equal(output, "at last");
    });
  });
}

test("MCP-6 given a server that is not there, when it is used, then it is said to be unknown", async () => {
  assert.deepEqual(mcp.servers, [
    "a-process",
    "an-old-process",
    "an-old-process-that-asks",
    "http",
    "old-http",
  ]);
  await assert.rejects(mcp.tools("nobody", never), failing("mcp_unknown"));
  await assert.rejects(mcp.call("nobody", "echo", {}, asUsual()), failing("mcp_unknown"));
});
