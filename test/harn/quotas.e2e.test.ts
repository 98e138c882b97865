/** Quotas: exact whoever asks at once, whatever happens to the server, and never in anybody's way for ever. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { randomFrom } from "../runner/seed.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import {
  assertRepeatable,
  createPersona,
  createQuota,
  perform,
  receiptOf,
  resultsOf,
  usageOf,
  type Work,
  workerServer,
  workOf,
} from "../support/policy.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

const random = randomFrom();

const attempts = 200;
const most = 50;

async function workUnder(
  client: Client,
  quota: object,
  persona: object = {},
): Promise<Work & { quota: Json }> {
  const created = await createQuota(client, quota);
  const { id: personaId } = await createPersona(client, { quota_id: created.id, ...persona });
  return { quota: created, personaId, sessionId: (await client.createSession()).id };
}

const approve = (client: Client, task: Json, approved: boolean) =>
  client.post(`/v1/permission-requests/${task.waiting_for.permission_request_id}/respond`, { approved });

describe("quotas", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: TestProcess;
  let client: Client;

  before(async () => {
    directory = await temporaryDirectory();
    server = await startProcess({ data: directory.path, script: workerServer });
    client = new Client(server);
  });
  after(async () => {
    await server.kill();
    await assertRebuildable(directory.path);
    await directory[Symbol.asyncDispose]();
  });

  for (const [scope, limit] of [
    ["persona", "tasks"],
    ["workspace", "concurrency"],
    ["tenant", "concurrency"],
    ["organization", "tasks"],
  ] as const) {
    test(`QUO-1 a quota of ${most} ${limit} per ${scope} accepts ${most} of ${attempts} tasks`, async () => {
      // Given ${scope}'s quota of ${most} ${limit}, when ${attempts} tasks are submitted at once, then exactly ${most}
      // are accepted.
      const other = client.as((await client.createKey({ tenant_id: `tenant_${scope}` })).key);
      const callers = scope === "organization" ? [client, other] : [scope === "tenant" ? other : client];
      const owner = scope === "tenant" ? other : client;
      const quota = await createQuota(owner, { scope, limits: { [limit]: most } });
      const places = await Promise.all(
        callers.map(async (caller) => {
          const persona = await createPersona(caller, scope === "persona" ? { quota_id: quota.id } : {});
          const { body: workspace } = await caller.post("/v1/workspaces", { name: scope, root: "/srv" });
          if (scope === "workspace")
            await caller.call(`/v1/workspaces/${workspace.id}`, {
              method: "PATCH",
              body: { quota_id: quota.id },
            });
          const session = await caller.createSession({ workspace_id: workspace.id });
          return {
            caller,
            body: workOf({ sessionId: session.id, personaId: persona.id }, { do: "ask", question: "?" }),
          };
        }),
      );
      const answers = await Promise.all(
        Array.from({ length: attempts }, (_, n) => {
          const { caller, body } = places[n % places.length] ?? assert.fail();
          return caller.post("/v1/tasks", body);
        }),
      );
      const refused = answers.filter(({ status }) => status !== 202);
      assert.equal(answers.length - refused.length, most);
      for (const answer of refused) {
        const { code, details } = errorOf(answer, limit === "tasks" ? 422 : 429);
        assert.equal(code, limit === "tasks" ? "policy_violation" : "rate_limited");
        assert.deepEqual([details.scope, details.limit, details.used], [scope, limit, most]);
        assert.equal(answer.headers.get("retry-after"), limit === "tasks" ? null : "1");
      }
      assert.equal((await usageOf(owner, quota.id))[limit], most);
      const { body: shown } = await owner.get(`/v1/quotas/${quota.id}`);
      assert.match(shown.exhaustion_reason, new RegExp(`^${limit}: ${most} of ${most}`));
      for (const { caller } of places) {
        for (const task of await caller.listAll("/v1/tasks"))
          if (!isFinal(task)) await caller.post(`/v1/tasks/${task.id}/cancel`);
      }
      assert.equal((await usageOf(owner, quota.id)).concurrency, 0);
      await owner.call(`/v1/quotas/${quota.id}`, { method: "DELETE" });
      errorOf(await owner.get(`/v1/quotas/${quota.id}`), 404);
    });
  }

  test("QUO-2 spawns beyond the limit on concurrent tasks fail by name, and the rest ends", async () => {
    // Given a limit on tasks under way, when a parent spawns more children than fit, then the spawns beyond it fail by
    // name and the rest ends.
    const work = await workUnder(client, { limits: { concurrency: 5 } });
    const task = await perform(client, work, { do: "spawn", times: 12, ops: [{ do: "step", name: "a" }] });
    const [children] = await resultsOf(client, task);
    const refused = children.filter((child: Json) => child === "rate_limited");
    assert.equal(children.length, 12);
    // The parent is one of the five.
    assert.ok(refused.length > 0 && refused.length <= 8, JSON.stringify(children));
    assert.equal(children.filter((child: Json) => child.status === "SUCCEEDED").length, 12 - refused.length);
    assert.equal((await usageOf(client, work.quota.id)).concurrency, 0);
    await assertRepeatable(client, task);
  });

  test("QUO-2 a spawn under a limit of one concurrent task fails instead of deadlocking", async () => {
    // Given a limit of one task under way, when a task waits for a child, then the spawn fails instead of waiting for
    // ever.
    const work = await workUnder(client, { limits: { concurrency: 1 } });
    assert.deepEqual(await resultsOf(client, await perform(client, work, { do: "spawn" })), [
      ["rate_limited"],
    ]);
  });

  test("QUO-3 canceling task families with quotas in opposite orders does not deadlock", async () => {
    // Given families whose members count against quotas in opposite orders, when they are canceled while others end,
    // then all of it ends.
    const one = await workUnder(client, { limits: { tasks: 10_000 } });
    const two = await workUnder(client, { limits: { tasks: 10_000 } });
    const family = (child: Work) => ({
      do: "spawn",
      persona: child.personaId,
      times: 3,
      ops: [
        { do: "step", name: "a" },
        { do: "ask", question: "?" },
      ],
    });
    const parents = await Promise.all(
      Array.from({ length: 16 }, async (_, n) => {
        const [self, child] = n % 2 === 0 ? [one, two] : [two, one];
        return (await client.post("/v1/tasks", workOf(self, family(child)))).body;
      }),
    );
    const all = () => client.listAll(`/v1/sessions/${one.sessionId}/tasks`);
    const ending = Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        perform(client, n % 2 === 0 ? one : two, { do: "step", name: "b" }),
      ),
    );
    await until(all, (tasks) => tasks.some(({ status }) => status === "INPUT_REQUIRED"));
    await Promise.all(parents.map(({ id }) => client.post(`/v1/tasks/${id}/cancel`)));
    await ending;
    await until(all, (tasks) => tasks.every(isFinal));
    for (const { quota } of [one, two]) assert.equal((await usageOf(client, quota.id)).concurrency, 0);
  });

  test("QUO-4 a task that reaches a hard limit fails with its work kept and the reason recorded", async () => {
    // Given a hard limit that ends tasks, when a step comes to it, then the task fails with its work kept, and quota,
    // events and receipt say why.
    const work = await workUnder(client, { limits: { output_tokens: 10 } });
    const task = await perform(
      client,
      work,
      { do: "say", text: "kept" },
      { do: "artifact", name: "kept.txt" },
      { do: "spend", tokens: 8 },
      { do: "spend", tokens: 8 },
      { do: "say", text: "never" },
    );
    assert.deepEqual([task.status, task.failure.code], ["FAILED", "policy_violation"]);
    const { limit, most: allowed, used } = task.failure.details;
    assert.deepEqual({ limit, allowed, used }, { limit: "output_tokens", allowed: 10, used: 8 });
    assert.deepEqual(
      (await client.texts(work.sessionId)).filter((text) => text !== undefined),
      ["kept"],
    );
    assert.equal(
      (await client.listAll("/v1/artifacts")).filter(({ task_id }) => task_id === task.id).length,
      1,
    );
    assert.equal((await usageOf(client, work.quota.id)).output_tokens, 8);
    assert.match(
      (await client.get(`/v1/quotas/${work.quota.id}`)).body.exhaustion_reason,
      /^output_tokens: 8 of 10/,
    );
    const events = await client.listAll(`/v1/tasks/${task.id}/events`);
    assert.equal(events.filter(({ event }) => event === "vendor.bridle.quota.exhausted").length, 1);
    const receipt = await receiptOf(client, task);
    const body = receipt.receipt ?? receipt;
    assert.equal(body.autonomy_budget.limit.output_tokens, 10);
    assert.equal(body.autonomy_budget.consumed.output_tokens, 8);
    assert.equal(body.metadata.exhausted_quotas.length, 1);
  });

  test("QUO-5 an approval at a hard limit resumes the task and a denial ends it, despite a kill", async () => {
    // Given a hard limit that asks, when a task comes to it and the server dies meanwhile, then an approval lets it go
    // on and a denial ends it.
    const work = await workUnder(client, { limits: { output_tokens: 10 }, on_exhaustion: "ask" });
    const spending = [
      { do: "spend", tokens: 8 },
      { do: "spend", tokens: 8 },
      { do: "spend", tokens: 8 },
    ];
    const granted = await perform(client, work, ...spending);
    assert.equal(granted.status, "AUTH_REQUIRED");
    const denied = await perform(client, { ...work }, { do: "spend", tokens: 8 });
    assert.equal(denied.status, "AUTH_REQUIRED");
    await server.kill();
    server = await startProcess({ data: directory.path, script: workerServer });
    client = new Client(server);
    await approve(client, granted, true);
    await approve(client, denied, false);
    const went = await client.untilTask(granted.id, isFinal);
    assert.deepEqual(await resultsOf(client, went), ["spent", "spent", "spent"]);
    const ended = await client.untilTask(denied.id, isFinal);
    assert.deepEqual([ended.status, ended.failure.code], ["FAILED", "policy_violation"]);
    assert.equal((await usageOf(client, work.quota.id)).output_tokens, 24);
    await assertRepeatable(client, went);
  });

  test("QUO-6 given a soft limit, when it is passed, then nothing is refused and the quota says so", async () => {
    const work = await workUnder(client, { limits: { tool_calls: 1 }, soft_limit: true });
    const task = await perform(client, work, { do: "step", name: "a" }, { do: "step", name: "a" });
    assert.deepEqual(await resultsOf(client, task), ["stepped", "stepped"]);
    const { body } = await client.get(`/v1/quotas/${work.quota.id}`);
    assert.deepEqual([body.usage.tool_calls, body.hard_limit, body.soft_limit], [2, false, true]);
    assert.match(body.exhaustion_reason, /^tool_calls/);
  });

  test("QUO-7 spending that adds up exactly to the limit is accepted to the last cent", async () => {
    // Given money that adds up to the limit, when it is spent, then the last cent is not refused.
    const work = await workUnder(client, { limits: { usd: 0.3 } });
    const task = await perform(client, work, { do: "spend", usd: 0.1 }, { do: "spend", usd: 0.2 });
    assert.deepEqual(await resultsOf(client, task), ["spent", "spent"]);
    assert.equal((await usageOf(client, work.quota.id)).usd, 0.3);
  });

  test("QUO-7 a limit added while tasks run counts the running tasks", async () => {
    // Given a limit that is added while tasks run, when another is submitted, then those that run count.
    const work = await workUnder(client, { limits: { tasks: 100 } });
    const waiting = await perform(client, work, { do: "ask", question: "?" });
    const path = `/v1/quotas/${work.quota.id}`;
    await client.call(path, { method: "PATCH", body: { limits: { concurrency: 1 } } });
    errorOf(await client.post("/v1/tasks", workOf(work)), 429);
    await client.answer(waiting.id, "yes");
    await client.untilTask(waiting.id, isFinal);
    assert.equal((await client.post("/v1/tasks", workOf(work))).status, 202);
  });

  test("QUO-8 the limit on tasks per minute tells the retry time and counts a retry once", async () => {
    // Given a limit on tasks per minute, when it is reached, then the refusal says when to come back, and a retried
    // request counts once.
    const work = await workUnder(client, { limits: { tasks_per_minute: 2 } });
    const send = (key: string) => client.post("/v1/tasks", workOf(work), { "idempotency-key": key });
    const [first, again] = [await send("a"), await send("a")];
    assert.equal(again.body.id, first.body.id);
    assert.equal((await send("b")).status, 202);
    const refused = await send("c");
    assert.equal(errorOf(refused, 429).code, "rate_limited");
    const seconds = Number(refused.headers.get("retry-after"));
    assert.ok(seconds > 0 && seconds <= 60, `${seconds}`);
    assert.equal(refused.headers.get("ratelimit"), `"tasks_per_minute";r=0;t=${seconds}`);
    assert.equal(refused.headers.get("ratelimit-policy"), `"tasks_per_minute";q=2`);
  });

  test("QUO-9 the end of a quota window resets its usage and accepts work again", async () => {
    // Given a window that ends soon, when it is over, then what was used is forgotten and work is accepted again.
    const reset_at = new Date(Date.now() + 1000).toISOString();
    const work = await workUnder(client, { limits: { tasks: 1 }, reset_at });
    assert.equal((await client.post("/v1/tasks", workOf(work))).status, 202);
    const refused = await client.post("/v1/tasks", workOf(work));
    assert.equal(errorOf(refused, 429).details.reset_at, reset_at);
    await until(
      () => client.post("/v1/tasks", workOf(work)),
      ({ status }) => status === 202,
    );
    assert.equal((await usageOf(client, work.quota.id)).tasks, 1);
  });

  test("QUO-10 workspace-bound keys, other tenants and invalid bodies are rejected for quotas", async () => {
    // Given a key that is bound to workspaces, another tenant's, or nonsense, when it comes to quotas, then it is
    // refused.
    const quota = await createQuota(client, { scope: "workspace", limits: { tasks: 1 } });
    const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    const path = `/v1/quotas/${quota.id}`;
    const change = { method: "PATCH", body: { limits: { tasks: 9 } } };
    assert.equal(errorOf(await bound.call(path, change), 403).code, "permission_denied");
    errorOf(await bound.call(path, { method: "DELETE" }), 403);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    for (const options of [{}, change, { method: "DELETE" }])
      errorOf(await stranger.call(path, options), 404);
    errorOf(await stranger.post("/v1/quotas", { scope: "organization", limits: { tasks: 1 } }), 403);
    for (const [body, param] of [
      [{ scope: "persona", limits: {} }, "limits"],
      [{ scope: "persona", limits: { tasks: -1 } }, "limits"],
      [{ scope: "persona", limits: { cats: 1 } }, "limits"],
      [{ scope: "galaxy", limits: { tasks: 1 } }, "scope"],
      [{ scope: "persona", limits: { tasks: 1 }, hard_limit: true, soft_limit: true }, "soft_limit"],
      [{ scope: "persona", limits: { tasks: 1 }, reset_at: "2026-02-31T25:00:00Z" }, "reset_at"],
    ] as const)
      assert.match(errorOf(await client.post("/v1/quotas", body), 400).param, new RegExp(`^${param}`));
    const unknown = errorOf(await client.post("/v1/quotas", { scope: "persona", limits: { cats: 1 } }), 400);
    assert.equal(unknown.message, "limits.cats is not a field that is known here.");
  });

  test("QUO-11 quota usage matches the log after repeated kills under load", async () => {
    // Given a server that is killed under load again and again, when all has ended, then what is used is what the log
    // says was done.
    const work = await workUnder(client, { limits: { tool_calls: 1_000_000, concurrency: 1000 } });
    const ops = [
      { do: "step", name: "a" },
      { do: "llm" },
      { do: "spend", tokens: 3 },
      { do: "step", name: "a" },
    ];
    let sent = 0;
    for (let round = 0; round < 3; round++) {
      const dead = { yet: false };
      const load = Array.from({ length: 6 }, async () => {
        while (!dead.yet) {
          const key = `load-${sent++}`;
          // An answer that never came is exactly what a client has to live with.
          await client.post("/v1/tasks", workOf(work, ...ops), { "idempotency-key": key }).catch(() => {});
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 100 + random() * 200));
      await server.kill();
      dead.yet = true;
      await Promise.all(load);
      server = await startProcess({ data: directory.path, script: workerServer });
      client = new Client(server);
    }
    const tasks = await until(
      () => client.listAll(`/v1/sessions/${work.sessionId}/tasks`),
      (all) => all.every(isFinal),
    );
    assert.ok(tasks.length > 0);
    const usage = await usageOf(client, work.quota.id);
    const { tasks: counted, tool_calls, output_tokens, concurrency } = usage;
    assert.deepEqual(
      { counted, tool_calls, output_tokens, concurrency },
      {
        counted: tasks.length,
        tool_calls: 2 * tasks.length,
        output_tokens: 3 * tasks.length,
        concurrency: 0,
      },
    );
  });
});
