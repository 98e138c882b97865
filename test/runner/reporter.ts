/** In a worker: tells the runner how each test went. Files are suites of the outermost level. */

import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";
import { root, send } from "./protocol.ts";
import { serverLogs } from "./server-logs.ts";

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const names: string[] = [];
  let cpuBefore = cpuSeconds();
  for await (const event of source) {
    if (event.type === "test:start") {
      const { nesting, name } = event.data;
      names[nesting] = name;
      send({ type: "started", name });
    }
    if (event.type === "test:pass" && event.data.details.type !== "suite") {
      const { name, skip, details } = event.data;
      send({ type: "passed", name, seconds: details.duration_ms / 1000, isSkipped: skip !== undefined });
    }
    if (event.type === "test:fail" && !isOfSubtests(event.data.details.error)) {
      const { name, nesting, file = "", line = 0, details } = event.data;
      const logs = serverLogs(details.duration_ms);
      const reason = `${inspect(details.error.cause ?? details.error)}${logs}`;
      const suites = names.slice(1, nesting).map((suite) => `${suite} › `);
      send({
        type: "failed",
        failure: { name: suites.join("") + name, at: `${relative(root, file)}:${line}`, reason },
      });
    }
    if (event.type === "test:diagnostic" && event.data.nesting > 0) {
      send({ type: "diagnostic", message: event.data.message });
    }
    if ((event.type === "test:pass" || event.type === "test:fail") && event.data.nesting === 0) {
      const cpu = cpuSeconds();
      send({ type: "done", cpuSeconds: cpu - cpuBefore });
      cpuBefore = cpu;
    }
  }
  yield "";
}

/** A suite that fails because of its tests adds nothing to what they say. */
function isOfSubtests(error: Error): boolean {
  return "failureType" in error && error.failureType === "subtestsFailed";
}

/** Of this process, and of those that it started and that have ended. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedChildrenSeconds();
}

function endedChildrenSeconds(): number {
  if (process.platform !== "linux") return 0;
  const ticksPerSecond = 100;
  const afterName = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1) ?? "";
  const [user, system] = afterName.split(" ").slice(13, 15).map(Number);
  return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
}
