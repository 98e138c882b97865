/** What both programs need: a free port, a child that ends with them, and patience. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const patienceMs = 60_000;

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The program ends when its child does, and the other way around. */
export function fork(command, args, environment = {}, user = {}) {
  const child = spawn(command, args, {
    ...user,
    cwd: process.env.PEER_DATA,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", process.env.PEER_DEBUG === undefined ? "ignore" : "inherit"],
  });
  child.on("exit", (code) => process.exit(code ?? 0));
  child.on("error", (error) => {
    throw error;
  });
  process.on("SIGINT", () => child.kill("SIGINT"));
  // After an error of the program's own.
  process.on("exit", () => child.kill("SIGINT"));
}

export async function untilReady(attempt) {
  const startedAt = performance.now();
  for (;;) {
    try {
      const answer = await attempt();
      if (answer.ok) return;
      throw new Error(`The answer was ${answer.status}: ${await answer.text()}`);
    } catch (error) {
      if (performance.now() - startedAt > patienceMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}
