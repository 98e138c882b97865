/** What `/metrics` says after work that is known, to whom it says it, and what cannot get into it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Kernel } from "../../src/kernel/kernel.ts";
import type { MetricsAccess } from "../../src/server/config.ts";
import { startServer } from "../../src/server/server.ts";
import { catalogue } from "../../src/telemetry/metrics/definitions.ts";
import { GrpcWire } from "../opvs/grpc-wire.ts";
import { Client, errorOf, until } from "../support/client.ts";
import { Exposition } from "../support/exposition.ts";
import { ModelWorld } from "../support/model-runs.ts";
import { adminKey, temporaryDirectory, withGrpc } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import { openStream } from "../support/sse.ts";

const secret = "sk-ant-api03-a-key-that-nobody-may-see-0123456789";

let world: ModelWorld;
before(async () => {
  world = await ModelWorld.start({ ...withGrpc, BRIDLE_METRICS: "auth", BRIDLE_LOG_LEVEL: "debug" });
});
after(() => world[Symbol.asyncDispose]());

/** As Prometheus asks: with a key and nothing else. */
async function scrape(url = world.server.url, key: string | null = adminKey): Promise<Exposition> {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/metrics`, { headers });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  return new Exposition(await response.text());
}

/** In this process. */
async function startHere({
  metrics,
}: {
  metrics: MetricsAccess;
}): Promise<{ url: string; kernel: Kernel } & AsyncDisposable> {
  const directory = await temporaryDirectory();
  const { url, kernel, stop } = await startServer({
    port: 0,
    dataDirectory: directory.path,
    apiKey: adminKey,
    metrics,
  });
  return {
    url,
    kernel,
    async [Symbol.asyncDispose]() {
      await stop(0);
      await directory[Symbol.asyncDispose]();
    },
  };
}

type Wanted = readonly [name: string, labels: Record<string, string>, more: number];

/** Does something and waits until exactly these numbers have grown by so much. */
async function grows(act: () => Promise<unknown>, ...wanted: Wanted[]): Promise<void> {
  const earlier = await scrape();
  await act();
  const seen = await until(
    async () => {
      const later = await scrape();
      return wanted.map(([name, labels, more]) => ({
        ...{ name, labels, more },
        found: later.sum(name, labels) - earlier.sum(name, labels),
      }));
    },
    (all) => all.every(({ found, more }) => Math.abs(found - more) < 1e-9),
  );
  assert.equal(seen.length, wanted.length);
}

describe("numbers", () => {
  test("MET-1, MET-9 exported metrics match the catalogue and Prometheus conventions", async () => {
    // Given a server that has worked, when its metrics are read, then they are those of the catalogue, sound in the text
    // format, with units, types and totals as Prometheus wants them.
    const { families } = await scrape();
    const own = [...families.values()].filter(({ name }) => name.startsWith("bridle_"));
    assert.deepEqual(own.map(({ name }) => name).sort(), catalogue.map(({ name }) => name).sort());
    for (const { name, type, help } of own) {
      assert.equal(name.endsWith("_total"), type === "counter", name);
      assert.match(help, /\.$/, name);
      assert.doesNotMatch(name, /_(ms|milliseconds|kb|megabytes)(_|$)/);
    }
    for (const name of families.keys()) assert.match(name, /^(bridle|process|nodejs)_/);
  });

  test("MET-2 each ended task counts once by agent and outcome, with questions and approvals", async () => {
    // Given tasks that complete, fail and are canceled, with questions and approvals, when they have ended, then each is
    // counted once, under its agent and how it ended.
    const { client, sessionId } = world;
    const agent = "rehearsal";
    await grows(
      async () => {
        await client.rehearse(sessionId, "step one", "step two", "return done");
        await client.rehearse(sessionId, "fail it broke");
        const asking = await client.rehearse(sessionId, "ask Which?", "approve deploy", "return done");
        await client.answer(asking.id, "this one");
        const { waiting_for } = await client.untilTask(asking.id, ({ status }) => status === "AUTH_REQUIRED");
        await client.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, {
          approved: true,
        });
        const waiting = await client.rehearse(sessionId, "ask Still there?");
        await client.post(`/v1/tasks/${waiting.id}/cancel`, {});
      },
      ["bridle_tasks_submitted_total", { agent }, 4],
      ["bridle_tasks_ended_total", { agent, status: "completed" }, 2],
      ["bridle_tasks_ended_total", { agent, status: "failed" }, 1],
      ["bridle_tasks_ended_total", { agent, status: "canceled" }, 1],
      ["bridle_tasks_ended_total", {}, 4],
      ["bridle_task_duration_seconds_count", {}, 4],
      ["bridle_task_queue_seconds_count", {}, 4],
      // The agent's own code for it could be anything.
      ["bridle_task_failures_total", { code: "other" }, 1],
      ["bridle_steps_total", { kind: "step", outcome: "completed" }, 2],
      ["bridle_questions_total", { event: "asked" }, 2],
      ["bridle_questions_total", { event: "answered" }, 1],
      ["bridle_approvals_total", { event: "requested" }, 1],
      ["bridle_approvals_total", { event: "approved" }, 1],
      ["bridle_metrics_failures_total", {}, 0],
    );
  });

  test("MET-2 counts calls, attempts, tokens, cost and time by model, and tools by name", async () => {
    // Given model calls and calls of tools, when they have ended, then calls, attempts, tokens, money and time are
    // counted by model, and tools by name.
    world.script("expensive", { text: "Yes.", usage: { input: 100, output: 10 } });
    world.script("hopeless", { fault: { status: 400 } });
    world.open("metrics");
    const priced = { provider: "local", model: "priced" };
    await grows(
      async () => {
        await world.play([
          { do: "generate", model: "local/priced", prompt: "expensive" },
          { do: "tool", name: "lamp.look", input: { gate: "metrics" } },
          { do: "tool", name: "everything.counts" },
        ]);
        await world.play([{ do: "generate", prompt: "hopeless" }]);
        await world.play([{ do: "tool", name: `no.such.${secret}` }]);
      },
      ["bridle_model_calls_total", { ...priced, outcome: "completed" }, 1],
      ["bridle_model_calls_total", { provider: "none", outcome: "failed" }, 1],
      ["bridle_model_attempts_total", priced, 1],
      ["bridle_model_tokens_total", { ...priced, direction: "input" }, 100],
      ["bridle_model_tokens_total", { ...priced, direction: "output" }, 10],
      ["bridle_model_cost_dollars_total", priced, 0.011],
      ["bridle_model_call_duration_seconds_count", priced, 1],
      ["bridle_tool_calls_total", { tool: "lamp.look", outcome: "completed" }, 1],
      ["bridle_tool_calls_total", { tool: "mcp:everything", outcome: "completed" }, 1],
      ["bridle_tasks_ended_total", { agent: "player", status: "failed" }, 2],
    );
  });

  test("MET-2 counts HTTP and gRPC requests by template or method and outcome", async () => {
    // Given requests that are answered and refused, over HTTP and gRPC, when they are over, then they are counted by
    // template or method, and by how they ended.
    const { client, sessionId } = world;
    const grpc = new GrpcWire(world.server.grpcUrl());
    const route = "/v1/sessions/:session_id";
    await grows(
      async () => {
        assert.equal((await client.get(`/v1/sessions/${sessionId}`)).status, 200);
        assert.equal((await client.as("wrong").get(`/v1/sessions/${sessionId}`)).status, 401);
        await grpc.call("ListTasks", {});
        await grpc.call("ListTasks", {}, { key: "wrong" });
        await grpc.call("GetTask", { id: "task_none" });
      },
      ["bridle_http_requests_total", { method: "GET", route, status: "2xx" }, 1],
      ["bridle_http_requests_total", { method: "GET", route, status: "4xx" }, 1],
      ["bridle_http_request_duration_seconds_count", { method: "GET", route }, 2],
      ["bridle_grpc_calls_total", { method: "lf.a2a.v1.A2AService/ListTasks", code: "OK" }, 1],
      ["bridle_grpc_calls_total", { method: "lf.a2a.v1.A2AService/ListTasks", code: "Unauthenticated" }, 1],
      ["bridle_grpc_calls_total", { method: "lf.a2a.v1.A2AService/GetTask", code: "NotFound" }, 1],
      ["bridle_grpc_call_duration_seconds_count", {}, 3],
    );
  });

  test("MET-3 gauges count open streams, whose length does not enter the response times", async () => {
    // Given streams of every transport, when they are open and when they are closed, then the gauges say so, and their
    // length is nobody's answer time.
    const { client, sessionId } = world;
    const open = (transport: string) => async () =>
      (await scrape()).sum("bridle_streams_open", { transport });
    const waiting = await client.rehearse(sessionId, "ask Go on?");
    const grpc = new GrpcWire(world.server.grpcUrl());
    {
      await using _sse = await openStream(client, `/v1/sessions/${sessionId}/events/stream`);
      await using _socket = await openSession(client, sessionId);
      await using _grpc = await grpc.stream("SubscribeToTask", { id: waiting.id });
      for (const transport of ["sse", "websocket", "grpc"])
        await until(open(transport), (count) => count === 1);
    }
    for (const transport of ["sse", "websocket", "grpc"])
      await until(open(transport), (count) => count === 0);
    const route = "/v1/sessions/:session_id/events/stream";
    assert.equal((await scrape()).sum("bridle_http_request_duration_seconds_count", { route }), 0);
    await client.post(`/v1/tasks/${waiting.id}/cancel`, {});
  });

  test("MET-4 an idle server reports its log, disk, stores and runs", async () => {
    // Given a server at rest, when its metrics are read, then they say how its log, its disk, its stores and its runs
    // are.
    const events = await world.client.listAll("/v1/events");
    const found = await scrape();
    assert.ok(found.sum("bridle_log_position") >= events.length);
    assert.equal(found.sum("bridle_ready"), 1);
    assert.equal(found.sum("bridle_runs_max"), 256);
    assert.equal(found.sum("bridle_store_writable", { store: "log" }), 1);
    assert.ok(found.sum("bridle_store_file_bytes", { store: "log", file: "database" }) > 4096);
    assert.ok(found.sum("bridle_data_free_bytes") > 0);
    assert.ok(found.sum("bridle_store_commit_duration_seconds_sum", { store: "log" }) > 0);
    assert.ok(found.sum("bridle_store_commit_batches_count", { store: "log" }) > 0);
    const task = await world.begin([{ do: "step", gate: "held" }]);
    await until(
      async () => (await scrape()).sum("bridle_runs_active"),
      (runs) => runs === 1,
    );
    world.open("held");
    await world.ended(task);
    await until(
      async () => (await scrape()).sum("bridle_runs_active"),
      (runs) => runs === 0,
    );
  });
});

describe("what cannot get in", () => {
  test("MET-5 1000 meaningless addresses, methods and credentials add only a few series", async () => {
    // Given 1000 addresses, methods and credentials that mean nothing, when they are asked for, then all of them
    // together are a few series.
    const { client } = world;
    await scrape();
    await client.get("/nothing/here");
    const earlier = (await scrape()).series;
    for (let round = 0; round < 10; round++) {
      const paths = Array.from({ length: 100 }, (_, n) => `/v1/${secret}/${round}-${n}?key=${secret}`);
      const answers = await Promise.all(paths.map((path) => client.call(path)));
      assert.ok(answers.every(({ status }) => status === 404));
    }
    await client.call("/nothing", { method: "PURGE" });
    await client.get(`/v1/tasks/${secret}`);
    const later = (await scrape()).series;
    const added = [...later].filter((series) => !earlier.has(series));
    assert.deepEqual(
      added.filter((series) => !/"(GET|other)"/.test(series) && series.includes("bridle_")),
      [],
    );
    assert.ok(added.length < 60, added.join("\n"));
    const text = [...later].join("\n");
    assert.doesNotMatch(text, /sk-ant|nobody-may-see|no\.such/);
  });

  test("MET-5 no label contains the id of a session, task, key or tenant", async () => {
    // Given sessions, tasks, keys and tenants, when there has been work for them, then none of their ids is in a label.
    const text = [...(await scrape()).series].join("\n");
    assert.match(text, /rehearsal/);
    assert.doesNotMatch(text, /(session|task|persona|workspace|tenant|key|req|evt)_[0-9A-Za-z]{10}/);
    assert.doesNotMatch(text, /tenant_default|workspace_default/);
  });
});

describe("who may read", () => {
  test("MET-6 by default metrics need a server-wide key with the scope and nothing else", async () => {
    // Given the default, when metrics are read without a key, with one that lacks the scope, or with one for less than
    // the server, then they are refused; with the scope, and nothing else, they are given.
    const { client } = world;
    const read = (key: string | null) => client.call("/metrics", { key });
    errorOf(await read(null), 401);
    errorOf(await read("wrong"), 401);
    const { key: reader } = await client.createKey({ scopes: ["tasks:read", "events:read"] });
    assert.equal(errorOf(await read(reader), 403).details.required_scope, "metrics:read");
    const scopes = ["metrics:read"];
    const { key: bound } = await client.createKey({ scopes, workspace_ids: ["workspace_default"] });
    errorOf(await read(bound), 403);
    const { key: elsewhere } = await client.createKey({ scopes: ["admin"], tenant_id: "tenant_other" });
    errorOf(await read(elsewhere), 403);
    const { key: scraper } = await client.createKey({ scopes });
    await scrape(world.server.url, scraper);
    errorOf(await client.as(scraper).get("/v1/events"), 403);
    const { paths } = (await client.get("/openapi.json")).body;
    assert.equal(paths["/metrics"].get.security, undefined);
    assert.deepEqual(paths["/metrics"].get.parameters, []);
  });

  test("MET-7 an open server shows its own metrics without a key, a disabled one has none", async () => {
    // Given servers in one process, one open and one that counts nothing, when they are asked, then the open one needs
    // no key and counts what is its own, and the other has no metrics.
    await using open = await startHere({ metrics: "open" });
    await using other = await startHere({ metrics: "open" });
    await using off = await startHere({ metrics: "off" });
    await new Client(open).sessionWithTurns("one", "two");
    await new Client(off).sessionWithTurns("three");
    assert.equal((await scrape(open.url, null)).sum("bridle_tasks_submitted_total", { agent: "echo" }), 2);
    assert.equal((await scrape(other.url, null)).sum("bridle_tasks_submitted_total"), 0);
    errorOf(await new Client(off).get("/metrics"), 404);
    assert.equal((await new Client(off).get("/openapi.json")).body.paths["/metrics"], undefined);
    assert.deepEqual((await new Client(open).get("/openapi.json")).body.paths["/metrics"].get.security, []);
  });

  test("MET-8 an event that cannot be counted still commits, and the failure is counted", async () => {
    // Given an event that cannot be counted, when it is committed, then it is committed, what comes with it is counted,
    // and the failure is a number.
    await using here = await startHere({ metrics: "open" });
    const event = (name: string, payload: object) => ({
      ...{
        event: name,
        payload,
        resource: { object: "tenant", id: "tenant_default" },
        tenantId: "tenant_default",
      },
      ...{
        workspaceId: null,
        sessionId: null,
        taskId: null,
        actor: null,
        createdAt: new Date().toISOString(),
      },
    });
    const events = [event("span.completed", { kind: "llm", model_call: {} }), event("tool.approved", {})];
    const committed = await here.kernel.store.commit({ expect: [], events, put: [], blobs: [] });
    assert.equal(committed.length, 2);
    const found = await scrape(here.url, null);
    assert.equal(found.sum("bridle_metrics_failures_total"), 1);
    assert.equal(found.sum("bridle_approvals_total", { event: "approved" }), 1);
  });

  test("MET-8 an import is not counted as work of this server", async () => {
    // Given an import of what happened elsewhere and long ago, when it is heard, then it is not counted as work of this
    // server.
    await using here = await startHere({ metrics: "open" });
    const old = {
      ...{ event: "tool.denied", payload: {}, resource: { object: "tenant", id: "tenant_default" } },
      ...{ tenantId: "tenant_default", workspaceId: null, sessionId: null, taskId: null, actor: null },
      createdAt: "2020-01-01T00:00:00.000Z",
    };
    await here.kernel.store.commit({ expect: [], events: [old], put: [], blobs: [] });
    assert.equal((await scrape(here.url, null)).sum("bridle_approvals_total"), 0);
  });
});

describe("log lines of every request", () => {
  test("MET-11, MET-13 full logging has a line per request by template and id, without secrets", async () => {
    // Given a server that logs everything, when requests of all kinds bring secrets and a correlation id, then each has
    // a line by template and under its id, and no line has a secret.
    const { client, server } = world;
    const shown = () =>
      server
        .output()
        .split("\n")
        .filter((line) => line.startsWith("{"));
    const message = { protocol_version: "1.0.0", request: { user_intent: { text: secret } } };
    const shell = await client.post("/openharness/v1", message, { "x-correlation-id": "corr-found" });
    await client.call(`/v1/tasks/${secret}?key=${secret}`, { key: secret });
    await client.rehearse(world.sessionId, `say ${secret}`, `fail ${secret}`);
    await new GrpcWire(server.grpcUrl()).call("GetTask", { id: secret }, { key: secret });
    const line = await until(
      async () => shown().find((each) => each.includes("corr-found")),
      (found) => found !== undefined,
    );
    const { request_id, route, msg } = JSON.parse(line ?? "");
    assert.deepEqual(
      { request_id, route, msg },
      {
        request_id: shell.headers.get("x-request-id"),
        route: "/openharness/v1",
        msg: "request",
      },
    );
    await until(
      async () =>
        shown().some((each) => each.includes("A2AService/GetTask") && each.includes("Unauthenticated")),
      Boolean,
    );
    assert.doesNotMatch(server.output(), /nobody-may-see/);
  });
});
