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
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  let isStopped = false;
  child.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-4000);
  });
  const stop = () => {
    isStopped = true;
    child.kill("SIGINT");
  };
  child.on("close", (code) => {
    if (!isStopped) console.error(`${command} ended with ${code}\n${said}`);
    process.exit(isStopped ? 0 : 1);
  });
  process.on("SIGINT", stop);
  // After an error of the program's own.
  process.on("exit", stop);
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
