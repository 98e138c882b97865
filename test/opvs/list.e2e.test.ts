/** Lists of tasks: who sees what, in which order, page by page. */

import assert from "node:assert/strict";
import { Client, type Json } from "../support/client.ts";
import { begin, cancel, keyOf, play, rehearsal, reply, script, sleepLong, untilState } from "./play.ts";
import { type CallOptions, everyBinding, message, type Wire } from "./wire.ts";

async function list(wire: Wire, request: Json = {}, options?: CallOptions): Promise<Json> {
  const { result, error } = await wire.call("ListTasks", request, options);
  assert.equal(error, undefined);
  return result;
}

/** Every page, from the first to the one that says that it is the last. */
async function pages(wire: Wire, request: Json): Promise<Json[]> {
  const found: Json[] = [];
  let pageToken = "";
  do {
    const page = await list(wire, { ...request, ...(pageToken === "" ? {} : { pageToken }) });
    found.push(page);
    pageToken = page.nextPageToken;
    assert.equal(typeof pageToken, "string");
  } while (pageToken !== "");
  return found;
}

/** Tasks of one conversation that nothing else is in. */
async function conversation(wire: Wire, scripts: string[][]): Promise<{ contextId: string; ids: string[] }> {
  const contextId = `list ${crypto.randomUUID()}`;
  const ids: string[] = [];
  for (const lines of scripts) {
    const said = { ...script(...lines), contextId };
    const { result } = await wire.call("SendMessage", { message: said }, rehearsal);
    ids.push(result.task.id);
  }
  return { contextId, ids };
}

const idsOf = (page: Json): string[] => page.tasks.map(({ id }: Json) => id);
const timesOf = (tasks: Json[]): number[] => tasks.map(({ status }) => Date.parse(status.timestamp));
const names = Array.from({ length: 7 }, (_, n) => [`return ${n}`]);

everyBinding("lists of tasks", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-16 each caller lists its own tasks alone, with any filter",
    async (wire, { server }) => {
      // Given tasks of several tenants and workspaces, when each caller lists, with filters or without, then it sees its
      // own alone.
      const client = new Client(server);
      const workspace = (await client.post("/v1/workspaces", { name: "bound", root: "/bound" })).body;
      const keys = {
        tenant: await keyOf(server, "tenant_lists"),
        workspace: (await client.createKey({ workspace_ids: [workspace.id] })).key,
      };
      const contextId = `shared ${crypto.randomUUID()}`;
      const ours = await wire.call("SendMessage", { message: message("ours", { contextId }) });
      for (const key of Object.values(keys)) {
        const sent = await wire.call("SendMessage", { message: message("theirs", { contextId }) }, { key });
        const theirs = sent.result.task.id;
        const { contextId: ourSession } = (await wire.call("SendMessage", { message: message("x") })).result
          .task;
        for (const filter of [{}, { contextId }, { status: "TASK_STATE_COMPLETED" }]) {
          const seen = await list(wire, filter, { key });
          assert.ok(idsOf(seen).includes(theirs));
          assert.ok(!idsOf(seen).includes(ours.result.task.id), JSON.stringify(filter));
        }
        assert.deepEqual(idsOf(await list(wire, { contextId }, { key })), [theirs]);
        const foreign = await list(wire, { contextId: ourSession }, { key });
        assert.deepEqual(foreign, { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
      }
    },
  );

  onEveryBinding(
    "OPVS-17 OPVS-18 OPVS-19 OPVS-20 OPVS-22 pages list each once, newest first",
    async (wire) => {
      // Given seven tasks, when they are listed with pages of every size, then each comes once, the newest first, and the
      // last page says so.
      const { contextId, ids } = await conversation(wire, names);
      for (const pageSize of [1, 2, 3, 6, 7, 8, 100]) {
        const all = await pages(wire, { contextId, pageSize });
        assert.deepEqual(all.flatMap(idsOf), ids.toReversed(), `pages of ${pageSize}`);
        assert.equal(all.length, Math.ceil(7 / pageSize));
        for (const page of all) assert.deepEqual([page.pageSize, page.totalSize], [pageSize, 7]);
        const times = timesOf(all.flatMap(({ tasks }) => tasks));
        assert.deepEqual(
          times,
          times.toSorted((a, b) => b - a),
        );
      }
      assert.equal((await list(wire, { contextId })).pageSize, 50);
    },
  );

  onEveryBinding("OPVS-18 a task whose status changes comes first in the list", async (wire) => {
    // Given an old task that waits, when its status changes, then it is the first of the list.
    const { contextId, ids } = await conversation(wire, [["ask x?"], ["return 1"], ["return 2"]]);
    const [waiting, one, two] = ids;
    assert.deepEqual(idsOf(await list(wire, { contextId })), [two, one, waiting]);
    await wire.call("SendMessage", { message: reply({ id: waiting }, "y") });
    assert.deepEqual(idsOf(await list(wire, { contextId })), [waiting, two, one]);
  });

  onEveryBinding("OPVS-17 tasks that do not change come once while pages are followed", async (wire) => {
    // Given pages that are being followed, when tasks are added and others change meanwhile, then what did not change
    // comes once.
    const { contextId, ids } = await conversation(wire, [["ask x?"], ...names]);
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await list(wire, { contextId, pageSize: 2, ...(pageToken === "" ? {} : { pageToken }) });
      seen.push(...idsOf(page));
      pageToken = page.nextPageToken;
      await wire.call("SendMessage", { message: { ...script("return new"), contextId } }, rehearsal);
      if (seen.length === 2) await wire.call("SendMessage", { message: reply({ id: ids[0] }, "y") });
    } while (pageToken !== "");
    assert.deepEqual(seen, ids.slice(1).toReversed());
  });

  onEveryBinding("OPVS-19 OPVS-20 OPVS-22 the list of an unknown conversation is empty", async (wire) => {
    // Given a conversation that never was, when it is listed, then all members are there and empty.
    const none = { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 };
    for (const contextId of ["never was", "session_never_was"]) {
      assert.deepEqual(await list(wire, { contextId }), none);
    }
  });

  onEveryBinding("OPVS-21 listed tasks have artifacts only when they are asked for", async (wire) => {
    // Given tasks with artifacts and without, when they are listed, then artifacts are there only when they were asked
    // for, and then on every task.
    const { contextId } = await conversation(wire, [["artifact a.txt A"], ["say nothing made"]]);
    for (const request of [{ contextId }, { contextId, includeArtifacts: false }]) {
      for (const task of (await list(wire, request)).tasks) assert.equal("artifacts" in task, false);
    }
    const [without, with_] = (await list(wire, { contextId, includeArtifacts: true })).tasks;
    // Protobuf has no empty list that is there.
    assert.deepEqual(without.artifacts, wire.name === "gRPC" ? undefined : []);
    assert.equal(with_.artifacts[0].parts[0].text, "A");
  });

  onEveryBinding("OPVS-16 a list by state has the tasks in that state and their number", async (wire) => {
    // Given tasks in every state, when they are listed by state, then those in that state come and are counted.
    const { contextId, ids } = await conversation(wire, [
      ["return x"],
      ["fail x"],
      ["reject x"],
      ["ask x?"],
      ["approve x"],
    ]);
    const states = ["COMPLETED", "FAILED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"];
    for (const [n, state] of states.entries()) {
      const { tasks, totalSize } = await list(wire, { contextId, status: `TASK_STATE_${state}` });
      assert.deepEqual([tasks.map(({ id }: Json) => id), totalSize], [[ids[n]], 1], state);
    }
    const running = await begin(wire, sleepLong);
    await untilState(wire, running, "WORKING");
    const working = { contextId: running.contextId, status: "TASK_STATE_WORKING" };
    assert.deepEqual(idsOf(await list(wire, working)), [running.id]);
    await cancel(wire, running);
    assert.deepEqual(idsOf(await list(wire, working)), []);
  });

  onEveryBinding("OPVS-18 a list since a time has that task and newer ones", async (wire) => {
    // Given the times of three tasks, when only those since the middle one are asked for, then it and the newer one
    // come.
    const { contextId, ids } = await conversation(wire, [["sleep 2"], ["sleep 2"], ["sleep 2"]]);
    const { tasks } = await list(wire, { contextId });
    const { timestamp } = tasks[1].status;
    const since = async (statusTimestampAfter: string) =>
      idsOf(await list(wire, { contextId, statusTimestampAfter }));
    assert.deepEqual(await since(timestamp), [ids[2], ids[1]]);
    const justAfter = timestamp.replace("Z", "000001Z");
    assert.deepEqual(await since(justAfter), [ids[2]]);
    assert.deepEqual(await since("2000-01-01T00:00:00Z"), ids.toReversed());
    assert.deepEqual(await since("2999-01-01T00:00:00Z"), []);
  });

  onEveryBinding("OPVS-17 a wrong list parameter is refused by its name", async (wire) => {
    // Given parameters that no list has, when one is asked for, then it is refused by the name of the parameter.
    const { contextId } = await conversation(wire, names.slice(0, 2));
    const { nextPageToken } = await list(wire, { contextId, pageSize: 1 });
    const bad: [string, Json][] = [
      ["pageSize", { pageSize: 0 }],
      ["pageSize", { pageSize: -1 }],
      ["pageSize", { pageSize: 101 }],
      ["pageToken", { pageToken: "garbage" }],
      ["pageToken", { pageToken: Buffer.from("[1,2,3]").toString("base64url") }],
      ["pageToken", { pageToken: nextPageToken }],
      ["pageToken", { contextId, status: "TASK_STATE_FAILED", pageToken: nextPageToken }],
      ["status", { status: 99 }],
    ];
    // What cannot even be written in protobuf.
    const unwritable: [string, Json][] = [
      ["status", { status: "TASK_STATE_NONSENSE" }],
      ["statusTimestampAfter", { statusTimestampAfter: "yesterday" }],
    ];
    for (const [field, request] of wire.name === "gRPC" ? bad : [...bad, ...unwritable]) {
      const { error } = await wire.call("ListTasks", request);
      assert.equal(error?.status, "INVALID_ARGUMENT", JSON.stringify(request));
      assert.equal(error.details[0].fieldViolations[0].field, field);
    }
  });

  onEveryBinding("OPVS-16 a list at the address of an agent has its tasks alone", async (wire) => {
    // Given tasks of several agents in one conversation, when the address of one agent is asked, then its own come.
    const { contextId, ...first } = await play(wire, "return x");
    const said = message("hello", { contextId });
    await wire.call("SendMessage", { message: said }, { agent: "plain" });
    assert.equal((await list(wire, { contextId })).totalSize, 2);
    assert.deepEqual(idsOf(await list(wire, { contextId }, rehearsal)), [first.id]);
  });
});
