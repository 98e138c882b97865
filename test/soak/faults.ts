/** What happens to the server, to its disk and to connections: one thing after the other, by the seed. */

import { setTimeout as pause } from "node:timers/promises";
import type { Fleet } from "./fleet.ts";

type Fault = (fleet: Fleet, random: () => number) => Promise<void>;

const faults: Record<string, Fault> = {
  async kill(fleet) {
    await fleet.kill();
    await fleet.start();
  },
  async stop(fleet, random) {
    fleet.signal("SIGSTOP");
    await pause(100 + random() * 2000);
    fleet.signal("SIGCONT");
  },
  async full_disk(fleet, random) {
    fleet.fillDisk();
    await pause(200 + random() * 1500);
    if (random() < 0.3) await fleet.kill();
    fleet.freeDisk();
    await fleet.start();
  },
  async lost_answers(fleet, random) {
    fleet.proxy.loseAnswers(1 + Math.floor(random() * 5));
  },
  async cut_connections(fleet) {
    fleet.proxy.cut();
  },
  async slow_connections(fleet, random) {
    fleet.proxy.delay(random() * 400);
    await pause(random() * 1500);
    fleet.proxy.delay(0);
  },
  async database_killed({ postgres }, random) {
    if (postgres === null) return;
    await postgres.kill();
    await pause(random() * 1000);
    await postgres.start();
  },
};

function isPossible(name: string, { postgres, hasOwnDisk }: Fleet): boolean {
  if (name === "database_killed") return postgres !== null;
  return name !== "full_disk" || (hasOwnDisk && postgres === null);
}

/** Gives how often each happened. */
export async function disturb(
  fleet: Fleet,
  random: () => number,
  until: number,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const names = Object.keys(faults).filter((name) => isPossible(name, fleet));
  while (Date.now() < until) {
    await pause(150 + random() * 900);
    // However short it is, there is one kill.
    const isFirst = Object.keys(counts).length === 0;
    const name = isFirst ? "kill" : (names[Math.floor(random() * names.length)] ?? "kill");
    await faults[name]?.(fleet, random);
    counts[name] = (counts[name] ?? 0) + 1;
    await fleet.revive();
    fleet.measure();
  }
  return counts;
}
