/** REL-R10: data directories of earlier versions, with tasks in every kind of wait, are opened by this one and go on. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Value } from "typebox/value";
import { factIn } from "../../src/cli/task/facts.ts";
import { logLine } from "../../src/cli/task/log-lines.ts";
import { unseen, withFact } from "../../src/cli/task/view-state.ts";
import { styleFor } from "../../src/cli/terminal/style.ts";
import { importApproverKeys } from "../../src/harp/core/keys.ts";
import { Approver } from "../../src/sdk/approver/approver.ts";
import type { BridleEvent } from "../../src/sdk/client/index.ts";
import { verifyChain } from "../../src/sdk/verify/chain.ts";
import { eventPayloads } from "../../src/surfaces/harn/schemas-event.ts";
import { Person } from "../support/approvals.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import { golden } from "./agent.ts";
import { type Golden, goldenNames, readGolden, unpack } from "./directory.ts";

function isDescribed(kind: string): kind is keyof typeof eventPayloads {
  return Object.hasOwn(eventPayloads, kind);
}

class Opened {
  readonly #golden: Golden;
  readonly client: Client;

  constructor(opened: Golden, server: TestServer) {
    this.#golden = opened;
    this.client = new Client(server);
  }

  async task(kind: string): Promise<Json> {
    const id = this.#golden.tasks[kind];
    assert.ok(id !== undefined, kind);
    return (await this.client.get(`/v1/tasks/${id}`)).body;
  }

  /** What the agent returned, once the task has ended well. */
  async output(kind: string): Promise<Json> {
    const { id } = await this.task(kind);
    const ended = await this.client.untilTask(id, isFinal);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    const { messages } = (await this.client.get(`/v1/outcomes/${ended.outcome_id}`)).body;
    const [part] = messages[0].parts;
    return part.value ?? part.text;
  }

  async answer(taskId: string, text: string): Promise<void> {
    const { status, body } = await this.client.answer(taskId, text);
    assert.ok(status < 300, JSON.stringify(body));
  }

  async approve(kind: string): Promise<void> {
    const { waiting_for } = await this.task(kind);
    const path = `/v1/permission-requests/${waiting_for.permission_request_id}/respond`;
    const { status, body } = await this.client.post(path, { approved: true });
    assert.equal(status, 200, JSON.stringify(body));
  }

  async sign(kind: string): Promise<void> {
    const { id, key, secrets } = this.#golden.approver;
    const keys = await importApproverKeys(secrets);
    const ann = new Person(
      id,
      () => new Approver({ url: `${this.client.url}/harp`, key, approverId: id, keys }),
    );
    await ann.decide(await this.task(kind), "approve");
  }
}

assert.ok(goldenNames().length > 0);

for (const name of goldenNames()) {
  const stored = readGolden(name);

  describe(`data directory ${name} of ${stored.made.version}, made ${stored.made.at.slice(0, 10)}`, () => {
    let directory: { path: string } & AsyncDisposable;
    let server: TestServer;
    let opened: Opened;

    before(async () => {
      directory = await temporaryDirectory();
      unpack(stored, directory.path);
      server = await startServer({ data: directory.path, config: { agents: [golden] } });
      opened = new Opened(stored, server);
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    });

    test("REL-R10 what was said, uploaded, filed and remembered is there", async () => {
      const { client } = opened;
      const texts = await client.texts(stored.sessionId);
      assert.deepEqual(texts.slice(0, 2), ["one", "heard one"]);
      assert.equal(texts.at(-1)?.length, 20_000);
      const { body } = await client.get(`/v1/artifacts/${stored.uploadId}/content`);
      assert.equal(body, "uploaded content ".repeat(1000));
      const file = await client.get("/v1/workspaces/workspace_default/files?path=notes/first.txt");
      assert.equal(file.body.content, "first");
      const memories = await client.get("/v1/memories?scope=workspace&owner_id=workspace_default");
      assert.equal(memories.body.data[0].content, "gold");
    });

    test("REL-R10 a question is answered, of a child too, and a sleep ends", async () => {
      await opened.answer((await opened.task("input")).id, "ann");
      assert.deepEqual(await opened.output("input"), { name: "ann" });
      const children = await opened.client.listAll("/v1/tasks?status=INPUT_REQUIRED");
      const parent = await opened.task("child");
      const child = children.find(({ parent_task_id }) => parent_task_id === parent.id);
      await opened.answer(child.id, "bob");
      assert.deepEqual(await opened.output("child"), { child: "SUCCEEDED" });
      assert.equal(await opened.output("sleep"), "awake");
    });

    test("REL-R10 pending approvals are answered over the API", async () => {
      for (const [kind, output] of [
        ["approval", "shipped"],
        ["effect", "sent"],
        ["tool", { paid: 4900 }],
      ] as const) {
        await opened.approve(kind);
        assert.deepEqual(await opened.output(kind), output);
      }
    });

    test("REL-R10 pending approvals are signed with the key that was paired then", async () => {
      for (const [kind, output] of [
        ["approval_harp", "shipped"],
        ["effect_harp", "sent"],
      ] as const) {
        await opened.sign(kind);
        assert.equal(await opened.output(kind), output);
      }
    });

    test("REL-R10 a host answers, and a secret is still readable", async () => {
      const { id, session_id } = await opened.task("host");
      await using host = await openSession(opened.client, session_id, {
        host_capabilities: ["wallet.sign"],
      });
      const { call_id } = await host.until("request");
      await host.command({ type: "host.result", call_id, output: "signed" });
      assert.equal(await opened.output("host"), "signed", id);
      await opened.answer((await opened.task("secret")).id, "yes");
      assert.deepEqual(await opened.output("secret"), { before: "looked", length: 23 });
    });

    test("CLT-18 events of then and now fit the types of the client, and the view of a task shows them", async () => {
      const kinds = new Set<string>();
      let state = unseen("task_1");
      for (const event of await opened.client.listAll("/v1/events")) {
        const kind: string = event.event;
        if (!isDescribed(kind)) continue;
        kinds.add(kind);
        const problems = Value.Errors(eventPayloads[kind], event.payload);
        assert.deepEqual(
          [...problems].map(({ message, instancePath }) => [kind, instancePath, message]),
          [],
        );
        // As checked.
        const fact = factIn(event as BridleEvent);
        if (fact === null) continue;
        state = withFact(state, fact);
        logLine(fact, state, styleFor({ isTerminal: false, env: {} }), "full");
      }
      assert.ok(kinds.size > 15, [...kinds].join(", "));
    });

    test("REL-R10 receipts of then and now are one chain, and documents follow from the log", async () => {
      const { client } = opened;
      const response = await fetch(`${client.url}/v1/workspaces/workspace_default/receipts/export`, {
        headers: client.headers(),
      });
      const [, { jwks }, ...receipts]: Json[] = (await response.text())
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const report = await verifyChain(receipts, jwks.keys);
      assert.deepEqual(report.failures, []);
      assert.ok(report.receipts > 10, String(report.receipts));
      await server.stop();
      await assertRebuildable(directory.path);
    });
  });
}
