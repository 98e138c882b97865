/** `ctx.tool`: local tools and those of MCP servers, as steps that are allowed, approved, recorded and never done twice. */

import assert from "node:assert/strict";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Type } from "typebox";
import { McpError } from "../../mcp-client/mcp.ts";
import { rehearse } from "../../testing/index.ts";
import { defineTool } from "../../tools/define.ts";
import { type AgentContext, defineAgent } from "../agents/agent.ts";

function agentThat(
  run: (ctx: AgentContext) => Promise<unknown>,
  tools: ReturnType<typeof defineTool>[] = [],
) {
  return defineAgent({
    name: "worker",
    version: "1.0.0",
    tools,
    run: async (ctx) => JSON.stringify(await run(ctx)),
  });
}

function counting(effect: "none" | "reversible" | "irreversible") {
  const seen = { calls: 0, keys: new Set<string>() };
  const tool = defineTool({
    name: "mail.send",
    description: "Sends mail.",
    input: Type.Object({ to: Type.String() }),
    output: Type.Object({ id: Type.Number() }),
    effect,
    run(_input, { idempotencyKey }) {
      seen.calls += 1;
      seen.keys.add(idempotencyKey);
      return { id: seen.calls };
    },
  });
  return { seen, tool };
}

const sends = (tool: ReturnType<typeof counting>["tool"]) =>
  agentThat((ctx) => ctx.tool(tool, { to: "ada" }));

test("TUL-1 a read-only tool runs in any autonomy tier, and only once despite a crash", async () => {
  // Given a tool that only looks, when it is called in any tier, then it is called, and once only.
  const { seen, tool } = counting("none");
  const run = await rehearse(sends(tool), {
    input: "go",
    persona: { autonomy_tier: "shadow" },
    crashAfter: "tool:mail.send:1",
  });
  assert.equal(run.output, '{"id":1}');
  assert.equal(seen.calls, 1);
  assert.deepEqual(run.step("tool:mail.send:1").input, { to: "ada" });
});

test("TUL-2 a tool with effects does not run if the persona may not act, and the agent hears why", async () => {
  // Given a tool that acts and a persona that may not, when it is called, then nothing is done and the agent hears why.
  const { seen, tool } = counting("reversible");
  const run = await rehearse(sends(tool), { input: "go", persona: { autonomy_tier: "suggest" } });
  assert.equal(run.failure?.code, "not_carried_out");
  assert.match(run.failure?.message ?? "", /proposed to people in artifact_/);
  assert.equal(seen.calls, 0);
  assert.equal(run.artifacts.length, 1);
});

test("TUL-3 an approved tool call runs with the input that was approved", async () => {
  // Given a tool that acts under approval, when it is approved, then it is done with what was approved.
  const { seen, tool } = counting("irreversible");
  const run = await rehearse(sends(tool), {
    input: "go",
    persona: { autonomy_tier: "act_with_approval" },
    people: { approvals: [true] },
  });
  assert.equal(run.output, '{"id":1}');
  assert.equal(seen.calls, 1);
  assert.equal(run.approvals[0]?.action, "mail.send");
});

test("TUL-4 a recorded irreversible call is neither repeated nor in doubt after a crash", async () => {
  // Given something irreversible whose result is recorded, when the process dies, then it is neither done again nor in
  // doubt.
  const { seen, tool } = counting("irreversible");
  const run = await rehearse(sends(tool), { input: "go", crashAfter: "tool:mail.send:1" });
  assert.equal(run.output, '{"id":1}');
  assert.equal(seen.calls, 1);
});

test("TUL-5 rejects a tool the persona does not list; an opt-in tool must be listed by name", async () => {
  // Given a persona whose tools do not name it, when a tool is called, then it is refused; an opt-in tool needs its
  // name.
  const { seen, tool } = counting("none");
  const unnamed = await rehearse(sends(tool), { input: "go", persona: { tools: ["calendar.*"] } });
  assert.equal(unnamed.failure?.code, "policy_violation");
  const optIn = defineTool({ ...tool, isOptIn: true });
  const all = await rehearse(sends(optIn), { input: "go", persona: { tools: ["*"] } });
  assert.equal(all.failure?.code, "policy_violation");
  const named = await rehearse(sends(optIn), { input: "go", persona: { tools: ["mail.*"] } });
  assert.equal(named.status, "COMPLETED");
  assert.equal(seen.calls, 1);
});

test("TUL-6 the agent goes on after a tool times out, and its late result is recorded as late", async () => {
  // Given a tool that takes too long, when its time is over, then the agent goes on, and what it gives later is recorded
  // as late.
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    effect: "none",
    timeoutMs: 20,
    output: Type.String(),
    async run() {
      await done;
      return "late";
    },
  });
  const agent = agentThat(async (ctx) => {
    const failed = await ctx.tool(slow, {}).catch((error) => error.code);
    finish();
    await ctx.sleep(60_000);
    return failed;
  });
  const run = await rehearse(agent, { input: "go" });
  assert.equal(run.output, '"tool_timeout"');
  const file = join(await mkdtemp(join(tmpdir(), "bridle-late-")), "run.jsonl");
  await run.save(file);
  assert.match(await readFile(file, "utf8"), /vendor\.bridle\.step\.late_result/);
  assert.equal(run.step("tool:slow:1").error?.code, "tool_timeout");
});

test("TUL-7 an MCP tool call is the step mcp:<server>:<tool>:<n>, also after crashes", async () => {
  // Given an MCP server, when its tool is called, then it is the step mcp:<server>:<tool>:<n>, in whatever life.
  const agent = agentThat((ctx) => ctx.tool("github.search", { q: "bridle" }));
  const run = await rehearse(agent, {
    input: "go",
    tools: { "github.search": { effect: "none", run: ({ q }) => ({ found: q ?? null }) } },
    crashEverywhere: true,
  });
  assert.equal(run.output, '{"found":"bridle"}');
  run.expectSteps(["mcp:github:tools/list:1", "mcp:github:search:1"]);
});

test("TUL-8 an MCP call that asks the person resumes with the answer, also after a crash", async () => {
  // Given an MCP server that asks in the middle of a call, when the person answers, then the call goes on with it, also
  // after a crash.
  const agent = agentThat((ctx) => ctx.tool("desk.book"));
  const schema = { type: "object", properties: { seat: { type: "string" } }, required: ["seat"] };
  const run = await rehearse(agent, {
    input: "go",
    tools: {
      "desk.book": {
        effect: "none",
        async run(_input, { elicit }) {
          const answer = await elicit?.({ message: "Which seat?", schema });
          return answer?.action === "accept" ? (answer.content.seat ?? null) : "none";
        },
      },
    },
    people: { answers: () => ({ seat: "12A" }) },
    crashEverywhere: true,
  });
  assert.equal(run.output, '"12A"');
  assert.equal(run.asked[0]?.question, "Which seat?");
});

test("TUL-9 retries a read-only tool of a lost MCP server; for others the outcome is unknown", async () => {
  // Given an MCP server that goes away, when its tool only looks, then it is called again; otherwise the outcome is
  // unknown.
  let calls = 0;
  const away = () => {
    calls += 1;
    if (calls < 3) throw new McpError("mcp_unavailable", "It went away.", { isOutcomeUnknown: true });
    return "back";
  };
  const agent = agentThat((ctx) => ctx.tool("desk.look"));
  const looked = await rehearse(agent, {
    input: "go",
    tools: { "desk.look": { effect: "none", run: away } },
  });
  assert.equal(looked.output, '"back"');
  calls = 0;
  const acted = await rehearse(agent, {
    input: "go",
    tools: { "desk.look": { effect: "reversible", run: away } },
  });
  assert.equal(acted.failure?.code, "outcome_unknown");
  assert.equal(calls, 1);
});

test("TUL-10 the error for an unknown tool lists the available ones", async () => {
  // Given a name that nothing has, when it is called, then the failure names what there is.
  const { tool } = counting("none");
  const run = await rehearse(
    agentThat((ctx) => ctx.tool("mail.sned", {}), [tool]),
    { input: "go" },
  );
  assert.equal(run.failure?.code, "unknown_tool");
  assert.match(run.failure?.message ?? "", /mail\.send/);
});
