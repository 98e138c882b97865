/** A gateway that forges, turns round, replays, swaps, delays, drops and doubles what approvers signed: `bridle gate run` runs nothing by it. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Artifact } from "../../src/harp/core/artifact.ts";
import { signDecision, type Verdict } from "../../src/harp/core/decision.ts";
import {
  type ApproverKeys,
  bundleOf,
  generateApproverKeys,
  pairingFingerprint,
} from "../../src/harp/core/keys.ts";
import type { ArtifactSubmit, DecisionBody } from "../../src/harp/core/wire.ts";
import { ApprovalStage } from "../support/approvals.ts";
import { bridle, type Ended } from "../support/cli.ts";
import { until } from "../support/client.ts";
import { openSubmitted } from "../support/enforcement.ts";
import {
  emitted,
  type Heard,
  type ScriptedGateway,
  scriptedGateway,
  send,
} from "../support/scripted-gateway.ts";
import { gateEnvironment, gateKey } from "./gate-stage.ts";

const approverId = "ann";
const nonce = "pairing-1";

/** Takes everything, pairs with one approver, and delivers what a test gives it. */
class HostileGateway implements AsyncDisposable {
  readonly keys: ApproverKeys;
  readonly submitted: ArtifactSubmit[] = [];
  readonly acknowledged = new Set<string>();
  #http: ScriptedGateway | null = null;
  #stream: ServerResponse | null = null;

  private constructor(keys: ApproverKeys) {
    this.keys = keys;
  }

  static async start(): Promise<HostileGateway> {
    const gateway = new HostileGateway(await generateApproverKeys(new Date()));
    gateway.#http = await scriptedGateway((heard, response) => gateway.#reply(heard, response));
    return gateway;
  }

  get url(): string {
    return this.#http?.url ?? assert.fail();
  }

  #reply({ path, body }: Heard, response: ServerResponse): void {
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    if (path.startsWith("/v1/sse/")) {
      this.#stream = response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": here\n\n");
    } else if (path.startsWith("/v1/pairing/initiate"))
      send(response, 201, { code: "ABCD2345", nonce, expiresAt });
    else if (path.startsWith("/v1/pairing/")) {
      const completedAt = new Date().toISOString();
      const publicKey = bundleOf(this.keys);
      send(response, 200, { nonce, state: "completed", expiresAt, approverId, publicKey, completedAt });
    } else if (path.startsWith("/v1/artifacts")) {
      const { requestId, createdAt, body: artifact }: ArtifactSubmit = body;
      this.submitted.push(body);
      const { artifactHash } = artifact;
      const accepted = { state: "pendingApproval", createdAt, expiresAt, artifactHash, duplicate: false };
      send(response, 202, emitted("artifact.accepted", accepted, { requestId }));
    } else if (path.startsWith("/v1/acks")) {
      this.acknowledged.add(body.body.msgId);
      send(response, 200, emitted("ack.accepted", {}));
    } else send(response, 200, emitted("inbox.page", { items: [], nextCursor: null }));
  }

  /** What is sealed for the approver about a text, once it is there; not what was seen before. */
  async artifact(about: string, seen: readonly Artifact[] = []): Promise<Artifact> {
    const find = async () => {
      for (const envelope of this.submitted) {
        if (seen.some(({ requestId }) => requestId === envelope.requestId)) continue;
        const artifact = await this.open(envelope);
        if (JSON.stringify(artifact.payload).includes(about)) return artifact;
      }
      return null;
    };
    return (await until(find, (found) => found !== null)) ?? assert.fail();
  }

  /** As the approver's device does, in time. */
  open(envelope: ArtifactSubmit): Promise<Artifact> {
    return openSubmitted(envelope, { approverId, keys: this.keys }, Date.parse(envelope.createdAt));
  }

  sign(artifact: Artifact, decision: Verdict = "allow"): Promise<DecisionBody> {
    return signDecision({ artifact, decision, keys: this.keys });
  }

  /** Until the enforcer has judged it. */
  async deliver(requestId: string, body: unknown): Promise<void> {
    await until(
      async () => this.#stream,
      (stream) => stream !== null,
    );
    const message = emitted("decision.deliver", Object(body), { requestId });
    this.#stream?.write(`event: decision.deliver\ndata: ${JSON.stringify(message)}\n\n`);
    await until(async () => this.acknowledged.has(message.msgId), Boolean);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http?.[Symbol.asyncDispose]();
  }
}

let gateway: HostileGateway;
let stage: ApprovalStage;
let project: string;
let key: string;

before(async () => {
  gateway = await HostileGateway.start();
  stage = await ApprovalStage.open(["--gateway", gateway.url, "--enforcer-id", "office"], {
    BRIDLE_GATEWAY_KEY: "key-of-the-gateway",
  });
  project = join(stage.directory, "project");
  mkdirSync(project);
  key = await gateKey(stage);
  const begun = await stage.client.post("/v1/approvals/pairings", { workspace_name: "office" });
  assert.equal(begun.status, 201, JSON.stringify(begun.body));
  const { ed25519, x25519 } = gateway.keys;
  const fingerprint = await pairingFingerprint(ed25519.publicKey, x25519.publicKey);
  const confirmed = await (await stage.officer()).post(`/v1/approvals/pairings/${nonce}/confirm`, {
    fingerprint,
  });
  assert.equal(confirmed.status, 201, JSON.stringify(confirmed.body));
});
after(async () => {
  await stage[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

function run(what: string, wait = "10m"): Promise<Ended> {
  const command = ["sh", "-c", `echo ${what} >> ran.txt`];
  return bridle(["gate", "run", "--wait", wait, "--", ...command], {
    cwd: project,
    env: gateEnvironment(stage, key),
  });
}

function runs(): string[] {
  const file = join(project, "ran.txt");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

/** Of what ran before, with the approval that it ran by. */
let earlier: { artifact: Artifact; body: DecisionBody };

test("GAT-5 what a gateway doubles runs once", async () => {
  const ended = run("approved");
  const artifact = await gateway.artifact("echo approved");
  const body = await gateway.sign(artifact);
  earlier = { artifact, body };
  await gateway.deliver(artifact.requestId, body);
  await gateway.deliver(artifact.requestId, body);
  const { code, stderr } = await ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(runs(), ["approved"]);
});

/** What it delivers in the place of the answer to an artifact that was never approved. */
const mischief: Record<string, (artifact: Artifact) => Promise<unknown>> = {
  "signed by itself": async (artifact) => {
    const keys = await generateApproverKeys(new Date());
    return await signDecision({ artifact, decision: "allow", keys });
  },
  "signed by itself in the name of the approver": async (artifact) => {
    const keys = await generateApproverKeys(new Date());
    const { signerKeyId } = gateway.keys;
    return { ...(await signDecision({ artifact, decision: "allow", keys })), signerKeyId };
  },
  "not signed": async ({ artifactHash }) => ({ artifactHash, decision: "approve" }),
  "a denial that is turned round": async (artifact) => ({
    ...(await gateway.sign(artifact, "deny")),
    decision: "approve",
  }),
  "an approval of something else": async () => await gateway.sign(earlier.artifact),
  "an approval that was used": async () => earlier.body,
  "an approval that was used, with another hash": async ({ artifactHash }) => ({
    ...earlier.body,
    artifactHash,
  }),
  "no decision at all": async () => ({ approved: true }),
};

test("GAT-5 what a gateway forges, turns round, swaps and replays runs nothing", async () => {
  for (const [what, made] of Object.entries(mischief)) {
    const ended = run(what.replaceAll(/\W+/g, "-"));
    const about = `echo ${what.replaceAll(/\W+/g, "-")} `;
    const artifact = await gateway.artifact(about);
    await gateway.deliver(artifact.requestId, await made(artifact));
    // It did not count, so the approver is asked anew; until then nothing was decided.
    const again = await gateway.artifact(about, [artifact]);
    await gateway.deliver(again.requestId, await gateway.sign(again, "deny"));
    const { code, stderr } = await ended;
    assert.deepEqual([code, /was denied/.test(stderr)], [10, true], `${what}: ${stderr}`);
  }
  assert.deepEqual(runs(), ["approved"]);
});

test("GAT-5 what a gateway drops or delays beyond its time runs nothing", async () => {
  const ended = run("too-late", "3s");
  const artifact = await gateway.artifact("echo too-late");
  const signed = await gateway.sign(artifact);
  const { code, stderr } = await ended;
  assert.deepEqual([code, /Nobody decided in time/.test(stderr)], [11, true], stderr);
  await gateway.deliver(artifact.requestId, signed);
  assert.deepEqual(runs(), ["approved"]);
});

test("GAT-5 a gateway that shows another request in the place of this one gets no signature", async () => {
  const ended = run("swapped", "30s");
  const artifact = await gateway.artifact("echo swapped");
  const [shown, real] = [earlier.artifact, artifact].map(({ requestId }) =>
    gateway.submitted.find((envelope) => envelope.requestId === requestId),
  );
  assert.ok(shown !== undefined && real !== undefined);
  const disguised = { ...real, body: { ...real.body, ciphertext: shown.body.ciphertext } };
  await assert.rejects(gateway.open(disguised));
  await gateway.deliver(artifact.requestId, await gateway.sign(artifact, "deny"));
  assert.equal((await ended).code, 10);
  assert.deepEqual(runs(), ["approved"]);
});
