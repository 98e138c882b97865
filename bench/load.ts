/**
 * The load generator: so many connections, each of which sends a request when it has the answer to the one before. The same for all targets, and on
 * bare sockets, because a full client would take as much of the processor as the fastest target does.
 */

import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Connection {
  /** Sends the next request. Fails when the answer is not the one that is expected. */
  request(): Promise<void>;
  close(): void;
}

export interface Target {
  connect(): Promise<Connection>;
}

export interface Measurement {
  requests: number;
  perSecond: number;
  p50: number;
  p99: number;
  /** The share of one processor that this process itself took. */
  generatorLoad: number;
}

/** A server that answers nobody for so long is stuck. */
const silenceMsMax = 10_000;

export type Amount = { seconds: number } | { requests: number };

export async function load(target: Target, connections: number, amount: Amount): Promise<Measurement> {
  const open = await Promise.all(Array.from({ length: connections }, () => target.connect()));
  const latencies: number[] = [];
  const startedAt = performance.now();
  const startedCpu = process.cpuUsage();
  const endsAt = "seconds" in amount ? startedAt + amount.seconds * 1000 : Number.POSITIVE_INFINITY;
  let left = "requests" in amount ? amount.requests : Number.POSITIVE_INFINITY;
  const work = async (connection: Connection) => {
    for (let sentAt = performance.now(); sentAt < endsAt && left > 0; ) {
      left -= 1;
      await connection.request();
      const answeredAt = performance.now();
      latencies.push(answeredAt - sentAt);
      sentAt = answeredAt;
    }
  };
  const close = () => {
    for (const connection of open) connection.close();
  };
  let answersBefore = -1;
  const watch = setInterval(() => {
    // Closing makes what waits for an answer fail.
    if (latencies.length === answersBefore) close();
    answersBefore = latencies.length;
  }, silenceMsMax);
  try {
    await Promise.all(open.map(work));
  } finally {
    clearInterval(watch);
    close();
  }
  const tookMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(startedCpu);
  latencies.sort((a, b) => a - b);
  const at = (fraction: number) => latencies[Math.floor(fraction * (latencies.length - 1))] ?? Number.NaN;
  return {
    requests: latencies.length,
    perSecond: (latencies.length / tookMs) * 1000,
    p50: at(0.5),
    p99: at(0.99),
    generatorLoad: (user + system) / 1000 / tookMs,
  };
}

interface HttpTarget {
  url: string;
  headers: Record<string, string>;
  /** The body of the n-th request. */
  body(n: number): string;
  /** What each answer contains. A task that did not complete would make the number a lie. */
  expected: string;
}

export function httpTarget({ url, headers, body, expected }: HttpTarget): Target {
  const { hostname, port, pathname, host } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST ${pathname} HTTP/1.1\r\n${lines.join("")}content-length: `;
  let sent = 0;
  return {
    connect: async () => {
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      socket.setNoDelay(true);
      const answers = new Answers(socket);
      return {
        request: async () => {
          sent += 1;
          const text = body(sent);
          socket.write(`${head}${Buffer.byteLength(text)}\r\n\r\n${text}`);
          const answer = await answers.next();
          if (!answer.startsWith("HTTP/1.1 20") || !answer.includes(expected)) {
            throw new Error(`${url} answered\n${answer.slice(0, 2000)}`);
          }
        },
        close: () => socket.destroy(),
      };
    },
  };
}

/** As much of HTTP/1.1 as one answer at a time needs: a length, or chunks of which the last is empty. */
class Answers {
  #waiting: { resolve(answer: string): void; reject(error: Error): void } | null = null;
  #received = "";

  constructor(socket: Socket) {
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      this.#received += chunk;
      if (!isWhole(this.#received)) return;
      const answer = this.#received;
      this.#received = "";
      this.#waiting?.resolve(answer);
    });
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("The server closed the connection")));
  }

  next(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1];
  return length === undefined ? text.endsWith("\r\n0\r\n\r\n") : text.length >= headEnd + 4 + Number(length);
}
