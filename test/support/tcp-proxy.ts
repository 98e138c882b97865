/** A network between a client and a server that does what networks do: lose an answer, hang up, fall silent. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface TcpProxy extends AsyncDisposable {
  url: string;
  /** Where connections lead from now on. */
  leadTo(url: string): void;
  /** Lets the next requests through and hangs up instead of handing back their answers. */
  loseAnswers(count: number): void;
  /** Hands back nothing more on the connections that are open now, and keeps them open. */
  silence(): void;
  /** Hands back everything so much later from now on. */
  delay(ms: number): void;
  /** Hangs up all connections. */
  cut(): void;
  /** Connections that clients have made. */
  connections(): number;
  /** Answers that were lost. */
  lost(): number;
}

export async function startTcpProxy(url: string): Promise<TcpProxy> {
  let target = new URL(url);
  let toLose = 0;
  let delayMs = 0;
  let lost = 0;
  let connections = 0;
  const open = new Set<Socket>();
  const silenced = new WeakSet<Socket>();
  const server = createServer((client) => {
    connections += 1;
    let delivered = Promise.resolve();
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        if (!silenced.has(client)) other.destroy();
      });
    }
    client.on("data", (bytes) => upstream.write(bytes));
    upstream.on("data", (bytes) => {
      if (silenced.has(client)) return;
      if (toLose > 0) {
        toLose -= 1;
        lost += 1;
        client.destroy();
      } else {
        const dueAt = performance.now() + delayMs;
        // Timers of other lengths may fire in another order than their bytes came.
        delivered = delivered.then(async () => {
          const waitMs = dueAt - performance.now();
          if (waitMs > 0) await pause(waitMs);
          client.write(bytes);
        });
      }
    });
    client.on("close", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    leadTo(other) {
      target = new URL(other);
    },
    loseAnswers(count) {
      toLose = count;
    },
    silence() {
      for (const socket of open) silenced.add(socket);
    },
    delay(ms) {
      delayMs = ms;
    },
    cut() {
      for (const socket of open) socket.destroy();
    },
    connections: () => connections,
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
