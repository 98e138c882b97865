/** A soak from its start to its verdict: clients of all protocols and faults for a while, then quiet, then the oracle. */

import { setTimeout as pause } from "node:timers/promises";
import { randomFrom } from "../runner/seed.ts";
import { Client } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import type { TestPostgres } from "../support/postgres.ts";
import { Clients } from "./clients.ts";
import { disturb } from "./faults.ts";
import { Fleet } from "./fleet.ts";
import { openOutside } from "./outside.ts";
import { assertSoaked } from "./soak-oracle.ts";
import { submitters } from "./submitters.ts";

export interface SoakOptions {
  ms: number;
  seed: number;
  postgres: TestPostgres | null;
  /** Where the data of a failed soak is. */
  onFailed(data: string): void;
}

export interface SoakReport {
  faults: Record<string, number>;
  promised: Record<string, number>;
  tasks: number;
  events: number;
  starts: number;
  peakMb: number;
  peakDescriptors: number;
}

/** Everything that was accepted has ended by then: the server is started and nothing disturbs it. */
const quietMsMax = 90_000;

export async function soak({ ms, seed, postgres, onFailed }: SoakOptions): Promise<SoakReport> {
  const random = randomFrom(seed);
  await using outside = await openOutside();
  await using fleet = await Fleet.open({ outsideUrl: outside.url, postgres });
  try {
    return await soakServer(fleet, outside, random, ms);
  } catch (error) {
    onFailed(await fleet.keep());
    throw error;
  }
}

async function soakServer(
  fleet: Fleet,
  outside: Awaited<ReturnType<typeof openOutside>>,
  random: () => number,
  ms: number,
): Promise<SoakReport> {
  const { url } = fleet.proxy;
  const session = await new Client({ url }).createSession();
  await new Client({ url }).call("/v1/personas/persona_soaker", {
    method: "PATCH",
    body: { autonomy_tier: "act_with_approval" },
  });
  const clients = new Clients({ url, grpcUrl: fleet.grpcUrl, sessionId: session.id }, random);
  const submitting = Promise.all(Object.keys(submitters).map((protocol) => clients.submit(protocol)));
  const beside = Promise.all([clients.attend(), clients.follow()]);
  const faults = await disturb(fleet, random, Date.now() + ms);
  clients.end();
  await submitting;
  const tasks = await clients.tasks(quietMsMax);
  await pause(settleMs);
  const { starts, peakMb, peakDescriptors } = fleet;
  const { events } = await assertSoaked({ clients, outside, tasks, starts, peakMb, peakDescriptors });
  clients.close();
  fleet.proxy.cut();
  await beside;
  await fleet.stop();
  if (fleet.postgres === null) await assertRebuildable(fleet.data);
  const promised = Object.groupBy(clients.promised, ({ protocol }) => protocol);
  const counts = Object.entries(promised).map(([protocol, all]) => [protocol, all?.length ?? 0]);
  const numbers = { tasks: tasks.length, events, starts, peakMb, peakDescriptors };
  return { faults, promised: Object.fromEntries(counts), ...numbers };
}

/** Receipts and the follower come behind the last task. */
const settleMs = 1500;
