/**
 * `npm run bench:harp`: how long a message takes through a gateway that has much to do: many exchanges that are pending,
 * many approvers that listen, and decisions all the time. Beside it, in the same run, the round trip of a request that
 * does nothing.
 */

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Envelope, GatewayClient, type Party } from "./harp-client.ts";
import { startProcess } from "./process.ts";

const pendingCount = Number(process.env.BENCH_PENDING ?? 10_000);
const approverCount = Number(process.env.BENCH_APPROVERS ?? 200);
const perSecond = Number(process.env.BENCH_RATE ?? 100);
const seconds = Number(process.env.BENCH_SECONDS ?? 20);
const aimMs = 100;
const key = "bench-key-0123456789-abcdef";

/** Times in milliseconds, as they come. */
class Latencies {
  readonly #values: number[] = [];

  add(value: number): void {
    this.#values.push(value);
  }

  at(fraction: number): number {
    const sorted = this.#values.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? Number.NaN;
  }

  row(what: string): string {
    const cells = [this.at(0.5), this.at(0.99), this.at(1)].map((ms) => ms.toFixed(1).padStart(9));
    return `${what.padEnd(42)} ${String(this.#values.length).padStart(7)} ${cells.join(" ")}`;
  }
}

const lifeMs = 60 * 60_000;

function artifactFor(enforcer: Party, approver: Party, requestId: string): Envelope {
  return {
    msgType: "artifact.submit",
    requestId,
    createdAt: new Date().toISOString(),
    sender: { enforcerId: enforcer.id },
    recipient: { approverId: approver.id },
    body: {
      artifactType: "core.artifact",
      artifactHash: `sha256:${randomBytes(32).toString("hex")}`,
      ciphertext: { alg: "AES-256-GCM", data: randomBytes(1024).toString("base64url") },
      expiresAt: new Date(Date.now() + lifeMs).toISOString(),
    },
  };
}

function decisionOn(request: Envelope, approver: Party): Envelope {
  return {
    msgType: "decision.submit",
    requestId: request.requestId,
    createdAt: new Date().toISOString(),
    sender: { approverId: approver.id },
    body: {
      artifactHash: request.body.artifactHash,
      decision: "approve",
      signerKeyId: "bench",
      nonce: randomBytes(16).toString("base64url"),
      signature: randomBytes(64).toString("base64url"),
    },
  };
}

/** Does something for each item, a few at a time. */
async function forEach<T>(
  items: readonly T[],
  width: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

const data = mkdtempSync(join(tmpdir(), "bridle-bench-"));
try {
  const main = fileURLToPath(new URL("../bridle.js", import.meta.url));
  const flags = (process.env.BENCH_FLAGS ?? "").split(" ").filter(Boolean);
  await using gateway = await startProcess(
    [...flags, main, "gateway", "--port", "0", "--data", data, "--log-level", "error"],
    { env: { BRIDLE_API_KEY: key } },
  );
  const client = new GatewayClient(gateway.url, key);
  const enforcer = await client.party("enforcer", "enf-bench");
  const approvers: Party[] = [];
  for (let n = 0; n < approverCount; n++) approvers.push(await client.party("approver", `app-${n}`));
  // Who has been there once can be named.
  await forEach(approvers, 8, (approver) => client.inbox(approver).then(() => {}));

  console.log(`Filing ${pendingCount} requests, each with one of ${approverCount} approvers.`);
  const numbers = Array.from({ length: pendingCount }, (_, n) => n);
  await forEach(numbers, 32, async (n) => {
    const approver = approvers[n % approvers.length];
    if (approver !== undefined)
      await client.submit(artifactFor(enforcer, approver, `req-old-${n}`), enforcer);
  });

  const submitMs = new Latencies();
  const decideMs = new Latencies();
  const statusMs = new Latencies();
  const lateMs = new Latencies();
  const submittedAt = new Map<string, number>();
  const decidedAt = new Map<string, number>();
  let flushed = 0;
  let acknowledged = 0;
  let delivered = 0;
  const failures: unknown[] = [];
  const alone = (work: Promise<unknown>) => work.catch((error) => failures.push(error));

  const acknowledge = async (party: Party, { requestId, msgId = "" }: Envelope) => {
    await client.acknowledge(party, requestId, msgId);
    acknowledged += 1;
  };

  console.log(
    "Opening a stream for each approver; everything that is pending comes at once, and is acknowledged.",
  );
  const waiting: { approver: Party; request: Envelope }[] = [];
  for (const approver of approvers) {
    await client.listen(approver, (request) => {
      const sent = submittedAt.get(request.requestId);
      if (sent === undefined) {
        flushed += 1;
        waiting.push({ approver, request });
        return;
      }
      submitMs.add(performance.now() - sent);
      submittedAt.delete(request.requestId);
      alone(acknowledge(approver, request));
      decidedAt.set(request.requestId, performance.now());
      alone(client.decide(decisionOn(request, approver), approver));
    });
  }
  await client.listen(enforcer, (delivery) => {
    const sent = decidedAt.get(delivery.requestId);
    if (sent === undefined) return;
    decideMs.add(performance.now() - sent);
    decidedAt.delete(delivery.requestId);
    delivered += 1;
    alone(acknowledge(enforcer, delivery));
  });
  while (flushed < pendingCount) await new Promise((resolve) => setTimeout(resolve, 20));
  await forEach(waiting, 32, ({ approver, request }) => acknowledge(approver, request));

  const total = perSecond * seconds;
  console.log(`${perSecond} requests and ${perSecond} decisions a second, for ${seconds} s.`);
  const acknowledgedBefore = acknowledged;
  const begun = performance.now();
  const probe = setInterval(() => {
    const sent = performance.now();
    alone(client.status().then(() => statusMs.add(performance.now() - sent)));
  }, 50);
  for (let n = 0; n < total; ) {
    const due = begun + (n * 1000) / perSecond;
    const now = performance.now();
    if (now < due) {
      await new Promise((resolve) => setTimeout(resolve, due - now));
      continue;
    }
    const approver = approvers[n % approvers.length];
    if (approver === undefined) break;
    lateMs.add(now - due);
    const requestId = `req-new-${n}`;
    submittedAt.set(requestId, performance.now());
    alone(client.submit(artifactFor(enforcer, approver, requestId), enforcer));
    n += 1;
  }
  const patience = performance.now() + 60_000;
  while (delivered < total && failures.length === 0 && performance.now() < patience) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  clearInterval(probe);
  const tookSeconds = (performance.now() - begun) / 1000;
  if (failures.length > 0) throw failures[0];
  if (delivered < total) throw new Error(`${total - delivered} decisions were never delivered`);

  console.log(
    `\n${"".padEnd(42)} ${"count".padStart(7)} ${"p50 ms".padStart(9)} ${"p99 ms".padStart(9)} ${"max ms".padStart(9)}`,
  );
  console.log(submitMs.row("artifact sent -> on the approver's stream"));
  console.log(decideMs.row("decision sent -> on the enforcer's stream"));
  console.log(statusMs.row("yardstick: GET /v1/status, round trip"));
  console.log(lateMs.row("the generator itself, behind its schedule"));
  const writes = 2 * total + (acknowledged - acknowledgedBefore);
  console.log(
    `\n${(writes / tookSeconds).toFixed(0)} durable changes a second in all, acknowledgements included.`,
  );
  const worst = Math.max(submitMs.at(0.99), decideMs.at(0.99));
  console.log(`Aim: p99 under ${aimMs} ms. ${worst < aimMs ? "Met" : "Missed"}: ${worst.toFixed(1)} ms.`);
  console.log(`
Measured: from before a request is written to the socket until its message was parsed on the other side's stream, the
fsync in between included; requests for one approver each, 1 KB of ciphertext, everything acknowledged.
Not measured: TLS, networks, WebSockets, requests for a whole tenant (one push for each approver), large artifacts, real
encryption and signatures. The generator, all its ${approverCount} approvers and the gateway share the cores of this machine.`);
  process.exitCode = worst < aimMs ? 0 : 1;
  client.close();
  await gateway.stop();
} finally {
  rmSync(data, { recursive: true, force: true });
}
