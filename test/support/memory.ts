/** How much memory a server process holds. */

import { readFile } from "node:fs/promises";
import { until } from "./client.ts";
import type { TestServer } from "./server.ts";

/** In MB: now, or the most it ever was. */
export async function residentMb({ pid }: TestServer, field: "VmRSS" | "VmHWM" = "VmRSS"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kb = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  return Math.round(Number(kb) / 1024);
}

/** Waits until a number has stopped rising. */
export async function settled(measure: () => Promise<number>): Promise<void> {
  const seen: number[] = [];
  await until(
    async () => seen.push(await measure()),
    () => {
      const recent = seen.slice(-20);
      return recent.length === 20 && Math.max(...recent) <= (recent[0] ?? 0);
    },
  );
}
