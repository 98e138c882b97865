/**
 * Traces as a collector gets them. One server, started three times: it is traced, it is killed while the collector is away, and it is
 * traced with content and stopped.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isFinal, type Json, userMessage } from "../support/client.ts";
import { sendDelivery } from "../support/deliveries.ts";
import { TestEditor } from "../support/editor.ts";
import { ModelWorld, type Op } from "../support/model-runs.ts";
import { type CollectedSpan, Collector } from "../support/otlp-collector.ts";
import { openSession } from "../support/socket.ts";

const credential = "collector-credential-4711";
const internal = 1;
const client = 3;

const env: Record<string, string> = {
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${credential}`,
  OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
  OTEL_EXPORTER_OTLP_TIMEOUT: "2000",
  OTEL_BSP_SCHEDULE_DELAY: "50",
  OTEL_SERVICE_NAME: "traced",
  OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
};
const collector = new Collector();
let world: ModelWorld;
const outputs: string[] = [];

before(async () => {
  await collector.start();
  env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  world = await ModelWorld.start(env);
});
after(async () => {
  await world[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

let traces = 0;
/** A caller's trace, unlike all others. */
function callersTrace(flags = "01") {
  traces += 1;
  const traceId = `4bf92f3577b34da6a3ce929d0e0e${String(traces).padStart(4, "0")}`;
  return { traceId, spanId: "00f067aa0ba902b7", traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` };
}

async function begin(ops: Op[], headers: Record<string, string> = {}): Promise<Json> {
  const request = { session_id: world.sessionId, persona_id: world.persona.id, input: { ops } };
  const { status, body } = await world.client.post("/v1/tasks", request, headers);
  assert.equal(status, 202, JSON.stringify(body));
  return body;
}

function rootOf(spans: CollectedSpan[]): CollectedSpan {
  const [root, ...others] = spans.filter(({ attributes }) => attributes["bridle.task.status"] !== undefined);
  assert.ok(root !== undefined && others.length === 0, "the task has one span");
  return root;
}

function named(spans: CollectedSpan[], name: string): CollectedSpan {
  const [found, ...others] = spans.filter((span) => span.name === name);
  assert.ok(found !== undefined && others.length === 0, `${name} once in ${spans.map((span) => span.name)}`);
  return found;
}

/** What a traceparent says when a step sends it. */
function sentBy({ traceId, spanId }: CollectedSpan, flags = "01"): string {
  return `00-${traceId}-${spanId}-${flags}`;
}

describe("a server that is traced", () => {
  test("TRC-3, TRC-4, TRC-5, TRC-6, TRC-11 a task is one trace of its caller without content", async () => {
    // Given a task with a model, a tool and a step, when it comes with a traceparent, then it is one trace of that
    // caller, as the conventions say, without content.
    world.script(
      "whisper-prompt",
      { toolCalls: [{ name: "lamp_look", input: { gate: "whisper-argument" } }] },
      { text: "whisper-answer", usage: { input: 12, output: 7 } },
    );
    const caller = callersTrace();
    const ops = [
      { do: "generate", prompt: "whisper-prompt", tools: ["lamp.look"], maxTokens: 99 },
      { do: "trace" },
      { do: "ask", prompt: "whisper-question" },
    ];
    const task = await begin(ops, { traceparent: caller.traceparent, tracestate: "vendor=1" });
    await world.noted("whisper-argument");
    world.open("whisper-argument");
    await world.client.untilTask(task.id, ({ status }) => status === "INPUT_REQUIRED");
    const said = { kind: "input", message: userMessage("whisper-reply") };
    await world.client.post(`/v1/tasks/${task.id}/messages`, said);
    const ended = await world.client.untilTask(task.id, isFinal);
    const spans = await collector.traceOf(task.id);

    const root = rootOf(spans);
    assert.equal(root.name, "invoke_agent player");
    assert.equal(root.kind, internal);
    assert.deepEqual([root.traceId, root.parentId], [caller.traceId, caller.spanId]);
    assert.deepEqual(
      [root.startMs, root.endMs],
      [Date.parse(ended.created_at), Date.parse(ended.completed_at)],
    );
    assert.deepEqual(root.events, ["task.started"]);
    assert.partialDeepStrictEqual(root.resource, {
      "service.name": "traced",
      "deployment.environment.name": "test",
    });
    assert.partialDeepStrictEqual(root.attributes, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "player",
      "gen_ai.agent.version": "1.0.0",
      "gen_ai.conversation.id": world.sessionId,
      "bridle.task.status": "completed",
    });

    const steps = spans.filter((span) => span !== root);
    assert.deepEqual(steps.map(({ name }) => name).sort(), [
      "ask",
      "chat anything",
      "chat anything",
      "execute_tool lamp.look",
      "step trace",
    ]);
    for (const step of steps) {
      assert.deepEqual([step.traceId, step.parentId], [caller.traceId, root.spanId], step.name);
      assert.ok(step.startMs >= root.startMs && step.endMs <= root.endMs, step.name);
    }
    const [asking, answering] = steps.filter(({ name }) => name === "chat anything");
    assert.ok(asking !== undefined && answering !== undefined);
    assert.equal(asking.kind, client);
    assert.partialDeepStrictEqual(answering.attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "local",
      "gen_ai.request.model": "anything",
      "gen_ai.request.max_tokens": 99,
      "gen_ai.usage.input_tokens": 12,
      "gen_ai.usage.output_tokens": 7,
      "gen_ai.response.finish_reasons": ["stop"],
    });
    const tool = named(steps, "execute_tool lamp.look");
    assert.partialDeepStrictEqual(tool.attributes, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "lamp.look",
      "gen_ai.tool.type": "function",
      "bridle.tool.effect": "none",
    });
    assert.match(String(tool.attributes["gen_ai.tool.call.id"]), /./);
    assert.ok(tool.endMs > tool.startMs, "it waited at the gate");
    assert.ok(tool.startMs >= asking.endMs && answering.startMs >= tool.endMs, "one after the other");

    const [first, second] = world.requests("whisper-prompt");
    assert.equal(first?.headers.traceparent, sentBy(asking));
    assert.equal(first?.headers.tracestate, "vendor=1");
    assert.equal(second?.headers.traceparent, sentBy(answering));
    const told = (await world.output(ended)).split("\n");
    assert.equal(told[1], sentBy(named(steps, "step trace")));

    const bodies = Buffer.concat(collector.requests.map(({ body }) => body)).toString("latin1");
    assert.ok(bodies.includes("execute_tool lamp.look"), "bodies can be searched");
    assert.ok(!bodies.includes("whisper"), "nothing of what was said is in them");
  });

  test("TRC-5 a task from a socket, connector or editor joins the trace of its traceparent", async () => {
    // Given a socket, a connector and an editor, when a task comes from there with a traceparent, then it is part of
    // that trace.
    const [overSocket, overConnector, overEditor] = [callersTrace(), callersTrace(), callersTrace()];
    await using socket = await openSession(world.client, world.sessionId);
    const { traceparent } = overSocket;
    socket.send({
      type: "task.submit",
      id: 1,
      input: { ops: [] },
      persona_id: world.persona.id,
      traceparent,
    });
    await socket.until("ack");

    const connector = await world.client.createConnector({ target_persona_id: world.persona.id });
    const { status } = await sendDelivery(world.client, {
      connector,
      id: "delivery-1",
      body: { type: "thing.happened" },
      headers: { traceparent: overConnector.traceparent },
    });
    assert.equal(status, 202);

    await using editor = await TestEditor.start(world.server, { flags: ["--agent", world.persona.id] });
    await editor.prompt(await editor.open(), "Hello", { traceparent: overEditor.traceparent });

    for (const { traceId, spanId } of [overSocket, overConnector, overEditor]) {
      const span = await collector.until((each) => each.traceId === traceId);
      assert.deepEqual([span.name, span.parentId], ["invoke_agent player", spanId]);
    }
  });

  test("TRC-7 a child's span is under the spawning step, and a replay links to its source", async () => {
    // Given a task that spawns another, and a replay of it, when they are traced, then the child is under the step, and
    // the replay is linked with its source.
    const task = await begin([{ do: "spawn", ops: [{ do: "trace" }] }]);
    await world.client.untilTask(task.id, isFinal);
    const spans = await collector.traceOf(task.id);
    const [root, spawn] = [rootOf(spans), named(spans, "spawn")];
    assert.equal(root.parentId, "", "nobody else began the trace");
    const child = await collector.traceOf(String(spawn.attributes["bridle.child_task.id"]));
    assert.deepEqual([rootOf(child).traceId, rootOf(child).parentId], [root.traceId, spawn.spanId]);
    assert.equal(named(child, "step trace").parentId, rootOf(child).spanId);

    const { body: replay } = await world.client.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" });
    await world.client.untilTask(replay.id, isFinal);
    const replayed = await collector.traceOf(replay.id);
    assert.deepEqual(
      replayed.map(({ name }) => name),
      ["invoke_agent player"],
      "what is copied is no work",
    );
    assert.notEqual(rootOf(replayed).traceId, root.traceId);
    assert.deepEqual(rootOf(replayed).links, [{ traceId: root.traceId, spanId: root.spanId }]);
  });

  test("TRC-3 spans of failed and canceled steps report it by code alone", async () => {
    // Given steps that fail, and one that is cut off by a cancellation, when they are traced, then the spans say so, by
    // code alone.
    world.script("refused", { fault: { status: 400, body: '{"error":{"message":"whisper-problem"}}' } });
    const failing = await begin([{ do: "generate", prompt: "refused" }]);
    const cut = await begin([{ do: "tool", name: "rocket.launch", input: { gate: "never" } }]);
    await world.noted("rocket.launch never");
    await world.client.post(`/v1/tasks/${cut.id}/cancel`, {});
    const failed = await collector.traceOf(failing.id);
    for (const span of failed) {
      assert.equal(span.attributes["error.type"], "model_refused", span.name);
      assert.deepEqual(span.status, { code: 2, message: "model_refused" }, span.name);
    }
    const spans = await collector.traceOf(cut.id);
    assert.equal(rootOf(spans).attributes["bridle.task.status"], "canceled");
    assert.equal(named(spans, "execute_tool rocket.launch").attributes["bridle.step.unfinished"], true);
  });

  test("TRC-8 an unsampled caller's task exports nothing and passes the flag to the model", async () => {
    // Given a caller that does not sample, when its task ends, then nothing is exported, and the model is told.
    const caller = callersTrace("00");
    const task = await begin([{ do: "generate", prompt: "unsampled" }], { traceparent: caller.traceparent });
    await world.client.untilTask(task.id, isFinal);
    const next = await begin([]);
    await collector.traceOf(next.id);
    assert.deepEqual(
      collector.spans.filter(({ traceId }) => traceId === caller.traceId),
      [],
    );
    const sent = String(world.requests("unsampled")[0]?.headers.traceparent);
    assert.match(sent, new RegExp(`^00-${caller.traceId}-(?!${caller.spanId})[0-9a-f]{16}-00$`));
  });
});

describe("a server that is killed while the collector is away", () => {
  test("TRC-9, TRC-10 traces are complete without duplicates after a crash and collector outage", async () => {
    // Given a task in the middle of a tool and one that waits, when the process is killed and the collector comes back
    // later, then their traces are whole and every span is there once.
    const waiting = await begin([
      { do: "generate", prompt: "before the question" },
      { do: "ask", prompt: "Go on?" },
    ]);
    const asking = await world.client.untilTask(waiting.id, ({ status }) => status === "INPUT_REQUIRED");
    const told = await collector.until(({ attributes }) => attributes["bridle.task.id"] === waiting.id);
    collector.status = 503;
    const asked = collector.requests.length;
    const task = await begin([
      { do: "generate", prompt: "before the end" },
      { do: "tool", name: "valve.turn", input: { gate: "crash" } },
      { do: "generate", prompt: "after the end" },
    ]);
    await world.noted("valve.turn crash");
    const quick = await begin([]);
    const ended = await world.client.untilTask(quick.id, isFinal);
    assert.equal(ended.status, "COMPLETED", "work goes on");
    await collector.asked(asked + 3);
    outputs.push(world.server.output());
    assert.equal(outputs[0]?.split("Traces cannot be exported").length, 2, "it is told once");
    await world.crash();
    collector.status = 200;
    world.open("crash");
    await world.client.untilTask(task.id, isFinal);
    const spans = await collector.traceOf(task.id);
    assert.deepEqual(spans.map(({ name }) => name).sort(), [
      "chat anything",
      "chat anything",
      "execute_tool valve.turn",
      "invoke_agent player",
    ]);
    const root = rootOf(spans);
    for (const span of spans) assert.equal(span.parentId, span === root ? "" : root.spanId, span.name);
    assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1);
    assert.equal(rootOf(await collector.traceOf(quick.id)).name, "invoke_agent player");

    const answer = { kind: "input", message: userMessage("Yes.") };
    await world.client.post(`/v1/tasks/${waiting.id}/messages`, answer);
    const continued = await collector.traceOf(waiting.id);
    assert.deepEqual(continued.map(({ name }) => name).sort(), [
      "ask",
      "chat anything",
      "invoke_agent player",
    ]);
    const ask = named(continued, "ask");
    assert.equal(ask.startMs, Date.parse(asking.updated_at), "it began in the process before");
    for (const span of continued) assert.equal(span.traceId, told.traceId);
    assert.equal(told.parentId, rootOf(continued).spanId, "what was told before fits what is told after");
    assert.equal(ask.parentId, rootOf(continued).spanId);
    const ids = collector.spans.map(({ spanId }) => spanId);
    assert.equal(new Set(ids).size, ids.length, "nothing is told twice");
  });
});

describe("a server that is traced with content", () => {
  const secret = "sk-ant-api03-QkFEIEtFWSBETyBOT1QgVVNFIGl0IGZvciBhbnl0aGluZw";

  test("TRC-12, TRC-13, TRC-14 spans hold content redacted and truncated, without credentials", async () => {
    // Given a prompt with a secret in it and a long one, when the server stops, then what was said is in the spans,
    // redacted and cut, and no credential is anywhere.
    env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT = "true";
    // Longer than the test: what comes, comes with the stop.
    env.OTEL_BSP_SCHEDULE_DELAY = "600000";
    outputs.push(world.server.output());
    await world.crash();
    world.script("loud-prompt", { text: "loud-answer" });
    const prompt = `loud-prompt ${secret}`;
    const ops = [
      { do: "generate", prompt, system: "loud-rules" },
      { do: "generate", prompt: `${"long ".repeat(4000)}loud-prompt` },
      { do: "tool", name: "everything.echo", input: { text: "loud-argument" } },
    ];
    const task = await begin(ops);
    const ended = await world.client.untilTask(task.id, isFinal);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    assert.equal(await world.server.stop(), 0);
    outputs.push(world.server.output());

    const spans = await collector.traceOf(task.id);
    const [short, long] = spans.filter(({ name }) => name === "chat anything");
    const textOf = (span: CollectedSpan | undefined, name: string) => String(span?.attributes[name]);
    assert.match(textOf(short, "gen_ai.input.messages"), /"role":"user".*loud-prompt/);
    assert.match(textOf(short, "gen_ai.system_instructions"), /loud-rules/);
    assert.deepEqual(JSON.parse(textOf(short, "gen_ai.output.messages")), [
      { role: "assistant", parts: [{ type: "text", content: "loud-answer" }], finish_reason: "stop" },
    ]);
    assert.equal(textOf(long, "gen_ai.input.messages").length, 8192);
    const tool = named(spans, "execute_tool everything.echo");
    assert.equal(tool.kind, client);
    assert.equal(tool.attributes["mcp.method.name"], "tools/call");
    assert.match(textOf(tool, "gen_ai.tool.call.arguments"), /loud-argument/);
    assert.match(textOf(tool, "gen_ai.tool.call.result"), /loud-argument/);

    const bodies = Buffer.concat(collector.requests.map(({ body }) => body)).toString("latin1");
    for (const each of [secret, credential, "test-administrator-key-0001"]) {
      assert.ok(!bodies.includes(each), "not in a span");
      assert.ok(!outputs.join("\n").includes(each), "not in a log line");
    }
    assert.ok(collector.requests.every(({ headers }) => headers.authorization === `Bearer ${credential}`));
  });
});
