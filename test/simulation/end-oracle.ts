/** What must hold once everything is healed and all that was accepted has come to its end. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { asRecorded, positionOf } from "../../src/kernel/core/events.ts";
import type { WholeKernel } from "../../src/kernel/kernel.ts";
import type { PushConfigRecord } from "../../src/kernel/kinds/push-config.ts";
import { exportReceipts } from "../../src/kernel/receipts/export-receipts.ts";
import { publicKeys } from "../../src/kernel/receipts/signing-keys.ts";
import { defaultTenantId, nameIn } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { verifyBundle } from "../../src/receipts/bundle.ts";
import { notificationShapes, notifications } from "../../src/surfaces/opvs/notifications.ts";
import { assertRefolds } from "../support/log.ts";
import { worker } from "./agents.ts";
import type { Client } from "./client.ts";
import type { LogOracle } from "./log-oracle.ts";
import { publicUrl, system } from "./process.ts";
import type { WebhookReceiver } from "./webhook-receiver.ts";

export interface Ended {
  kernel: WholeKernel;
  log: LogOracle;
  clients: readonly Client[];
  receiver: WebhookReceiver;
  /** The positions that somebody who followed the log was sent. */
  seen: readonly number[];
}

const checks = [tasksAreThose, logIsFollowed, documentsRefold, receiptsVerify, webhooksAreTold];

export async function endProblems(ended: Ended): Promise<Error | null> {
  for (const check of checks) {
    try {
      await check(ended);
    } catch (error) {
      return new Error(`${check.name}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }
  return null;
}

/** Everything acknowledged is there once, and came to an end that its plan allows. */
function tasksAreThose({ log, clients }: Ended): void {
  const given = [...log.tasks.values()].filter(({ agent }) => agent.name === worker);
  assert.deepEqual(given.map(({ id }) => id).sort(), clients.map(({ taskId }) => taskId).sort());
  for (const { taskId, plan, isCanceled } of clients) {
    const task = log.tasks.get(taskId ?? "");
    assert.ok(task !== undefined);
    const { status, failure } = task;
    if (isCanceled) assert.equal(status, "CANCELED", "a cancellation that was acknowledged holds");
    else if (plan.cancelAfter === null) assert.notEqual(status, "CANCELED");
    if (status === "FAILED") assertAllowed(failure?.code ?? "", plan.acts.includes("fail"), plan.denies);
  }
}

/**
 * What a task may fail with beside what its plan says: what nobody can know after a process has died in the middle of an effect, and
 * waits that a clock which was set forward has ended.
 */
const unknowable = ["outcome_unknown", "approval_used", "deadline_exceeded"];

function assertAllowed(code: string, isToFail: boolean, denies: boolean): void {
  const allowed = [
    ...unknowable,
    ...(isToFail ? ["agent_error"] : []),
    ...(denies ? ["approval_denied"] : []),
  ];
  assert.ok(allowed.includes(code), `a task failed with ${code}`);
}

function logIsFollowed({ log, seen }: Ended): void {
  assert.deepEqual(
    seen.slice(0, log.events.length),
    log.events.map(({ position }) => position),
  );
}

async function documentsRefold({ kernel }: Ended): Promise<void> {
  await assertRefolds(kernel.store);
}

async function receiptsVerify({ kernel, log }: Ended): Promise<void> {
  const lines: string[] = [];
  const workspaceId = nameIn(defaultTenantId, "workspace_default");
  for await (const line of await exportReceipts(kernel, system, workspaceId)) lines.push(line);
  const report = await verifyBundle(inOrder(lines), await publicKeys(kernel.store));
  assert.equal(report.failures.length, 0, JSON.stringify(report.failures));
  const ended = log.tasks.size;
  assert.ok(report.receipts >= ended, `${report.receipts} receipts of ${ended} tasks`);
}

async function* inOrder(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Each webhook was told all of its task's notifications in order; again only what it had been told last. */
async function webhooksAreTold({ kernel, log, clients, receiver }: Ended): Promise<void> {
  for (const { name, taskId, hasWebhook } of clients) {
    if (!hasWebhook || taskId === null) continue;
    const created = log.events.find(
      ({ event, taskId: of }) => event === "vendor.bridle.push_config.created" && of === taskId,
    );
    assert.ok(created !== undefined, "a webhook that was acknowledged is there");
    const { push_config: config } = created.payload as { push_config: PushConfigRecord };
    if (config.state !== "active") continue;
    const wanted = await narrated(kernel, log, config);
    const told = receiver.takenBy(name).map((body) => JSON.parse(body));
    assertTold(told, wanted);
  }
}

async function narrated(kernel: WholeKernel, log: LogOracle, config: PushConfigRecord): Promise<unknown[]> {
  const after = positionOf(config.delivered_through_event_id, "from");
  const narrate = await notifications({ kernel, publicUrl, shapes: notificationShapes })(config, after);
  const bodies: unknown[] = [];
  for (const event of log.events) {
    if (event.taskId !== config.task_id || event.position <= after) continue;
    for (const body of await narrate(asRecorded(event))) bodies.push(structuredClone(body));
  }
  return bodies;
}

function assertTold(told: readonly unknown[], wanted: readonly unknown[]): void {
  let through = 0;
  for (const body of told) {
    if (isDeepStrictEqual(body, wanted[through])) through += 1;
    else {
      // What a process sent that has died or was replaced since may arrive at any time.
      const isAgain = wanted.slice(0, through).some((one) => isDeepStrictEqual(one, body));
      assert.ok(isAgain, `told ${JSON.stringify(body)} where ${JSON.stringify(wanted[through])} was next`);
    }
  }
  assert.equal(through, wanted.length, "everything was told");
}
