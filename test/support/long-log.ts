/** Long logs without the work that they stand for: copies of recorded events, written through the store while no server runs. */

import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { asKernelEvent, type KernelEvent } from "../../src/kernel/core/events.ts";
import { type AnyRecord, alsoChanged, changed, created, indexOf } from "../../src/kernel/core/fold.ts";
import { createIds } from "../../src/kernel/core/ids.ts";
import { chainIdOf, type ReceiptChainRecord, treeNodeLevel } from "../../src/kernel/kinds/receipt.ts";
import type { TaskRecord } from "../../src/kernel/kinds/task.ts";
import { appendLeaf } from "../../src/receipts/merkle.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import { readWholeLog } from "./log.ts";

const newId = createIds(Date.now);
const batchSize = 1000;
/** Events of one commit share a row of the log; a real one has about this many. */
const eventsPerRow = 7;

type Copy = { event: KernelEvent; puts: AnyRecord[] };

/** Adds messages to a session that has one. */
export async function addMessages(data: string, sessionId: string, count: number): Promise<void> {
  await addCopies(data, count, (log) => {
    const original = log.find(({ event, sessionId: at }) => event === "user.message" && at === sessionId);
    assert.ok(original?.event === "user.message");
    const { message } = original.payload;
    return async () => {
      const record = { ...message, id: newId("msg") };
      const resource = { object: "message", id: record.id };
      return { event: { ...original, resource, payload: { message: record } }, puts: [record] };
    };
  });
}

/** Adds receipts to the chain of a workspace that has some. Their signatures are those of the first. */
export async function addReceipts(data: string, count: number): Promise<void> {
  await addCopies(data, count, (log, store) => {
    const original = log.find(({ event }) => event === "receipt.issued");
    assert.ok(original?.event === "receipt.issued");
    const { record, receipt } = original.payload;
    let chain: ReceiptChainRecord | undefined;
    return async () => {
      chain ??= (await store.get("receipt_chain", chainIdOf(record.workspace_id)))
        ?.body as ReceiptChainRecord;
      const copy = { ...record, id: newId("receipt"), index: chain.size };
      const isLastOfNode = (chain.size + 1) % (1 << treeNodeLevel) === 0;
      const { completed } = appendLeaf(chain.frontier, chain.size, copy.hash);
      const roots = isLastOfNode ? { roots: completed.slice(treeNodeLevel - 1) } : {};
      const event = asKernelEvent({
        ...original,
        resource: { object: "receipt", id: copy.id },
        payload: { record: copy, receipt, ...roots },
      });
      assert.deepEqual(alsoChanged(event), [chain.id]);
      chain = changed(chain, event);
      return { event, puts: [...created(event), chain] };
    };
  });
}

/** Adds tasks that have ended, like one that is there. */
export async function addTasks(data: string, count: number): Promise<void> {
  await addCopies(data, count, (log, store) => {
    const original = log.find(({ event }) => event === "task.submitted");
    assert.ok(original?.event === "task.submitted");
    let ended: TaskRecord | undefined;
    return async () => {
      ended ??= (await store.get("task", original.resource.id))?.body as TaskRecord;
      const id = newId("task");
      const task = { ...original.payload.task, id };
      const event = { ...original, resource: { object: "task", id }, taskId: id, payload: { task } };
      return { event, puts: [{ ...ended, id }] };
    };
  });
}

async function addCopies(
  data: string,
  count: number,
  copierOf: (log: KernelEvent[], store: WholeStore) => () => Promise<Copy>,
): Promise<void> {
  const store = await openSqliteStore(data);
  try {
    const copy = copierOf((await readWholeLog(store)).map(asKernelEvent), store);
    for (let done = 0; done < count; done += batchSize) {
      const copies: Copy[] = [];
      for (let n = done; n < Math.min(count, done + batchSize); n++) copies.push(await copy());
      // Of a record that several events change, only the last state is written.
      const records = new Map(copies.flatMap(({ puts }) => puts.map((record) => [record.id, record])));
      await store.commit({
        expect: [],
        events: copies.map(({ event }, n) => ({ ...event, createdAt: timeOf(done + n) })),
        put: [...records.values()].map((body) => ({
          kind: body.object,
          id: body.id,
          index: indexOf(body),
          body,
        })),
        blobs: [],
      });
    }
  } finally {
    await store.close();
  }
  collectGarbage();
}

/** A test measures the event loop next, and not the pause for what was left here. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

function timeOf(n: number): string {
  return new Date(Date.UTC(2026, 0, 1) + Math.floor(n / eventsPerRow)).toISOString();
}
