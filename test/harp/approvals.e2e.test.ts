/** Approvals from end to end: a server, its gateway or one elsewhere, people with keys, and processes that die in between. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { verifyAudit } from "../../src/harp/core/audit.ts";
import { verifyApprovalProof } from "../../src/harp/core/proof.ts";
import { ApprovalStage, type Person } from "../support/approvals.ts";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import { reservedPort } from "../support/ports.ts";
import { main, startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

let stage: ApprovalStage;
let ann: Person;
let persona: string;
before(async () => {
  stage = await ApprovalStage.openProcess();
  ann = await stage.approver("ann");
  persona = await stage.persona();
});
after(() => stage[Symbol.asyncDispose]());

describe("processes that die", () => {
  test("HARP-35 an approved effect is not retried after a crash, the task reports it unknown", async () => {
    // Given an effect that was approved, when the process dies in the middle of it, then it is never done again and the
    // task says what is not known.
    const task = await stage.task(persona, "die");
    await ann.decide(task, "approve");
    await stage.died();
    assert.equal(stage.deploysOf(task), 1);
    // A second attempt would end its process too.
    await stage.restartProcess();
    const ended = await stage.ended(task);
    assert.equal(ended.failure.code, "approval_used", JSON.stringify(ended));
    assert.match(ended.failure.message, /not known/);
    assert.equal(stage.deploysOf(task), 1);
  });

  test("HARP-35, HARP-49 an effect runs at most once though the server dies at any commit", async () => {
    // Given a server that is killed at every commit around an approval, when it is started again each time, then the
    // effect is done once at most, and once when it ends well.
    for (const point of ["commit.begun", "commit.durable"]) {
      for (const visit of [1, 2, 3]) {
        const task = await stage.task(persona, `${point} ${visit}`);
        await ann.asked(task);
        // From here on the next commits are: the decision at the gateway, its judgement, the use, the result.
        await stage.restartProcess({ BRIDLE_FAIL_POINT: `${point}:${visit}` });
        await ann.decideIfAsked(task, "approve").catch(() => {});
        await stage.restart();
        const { status, failure } = await stage.client.untilTask(task.id, (seen) => {
          if (seen.status === "AUTH_REQUIRED") void ann.decideIfAsked(task, "approve").catch(() => {});
          return isFinal(seen);
        });
        const runs = stage.deploysOf(task);
        assert.ok(runs <= 1, `${point}:${visit} ran ${runs} times`);
        if (status === "COMPLETED") assert.equal(runs, 1);
        else assert.equal(failure.code, "approval_used");
        await stage.client.settled(task);
      }
    }
  });
});

describe("through the gateway in the process", () => {
  test("HARP-107 lists a paired approver's key, device and fingerprint and nothing private", async () => {
    // Given an approver who was paired, when the list is read, then it has the key, its device and its fingerprint, and
    // nothing private.
    const { body } = await stage.client.get("/v1/approvals/approvers");
    const [key] = body.data;
    assert.equal(key.approver_id, "ann");
    assert.equal(key.state, "active");
    assert.match(key.fingerprint, /^[0-9a-f]{64}$/);
    assert.match(key.device_id, /^[0-9a-f-]{36}$/);
    assert.ok(Date.parse(key.created_at) <= Date.now());
    assert.doesNotMatch(JSON.stringify(body), /private|seed/);
  });

  test("an effect runs once after the approver signs, and its receipt verifies offline", async () => {
    // Given an effect that needs a signature, when the approver signs, then it is done once, and the receipt proves it
    // offline.
    const task = await stage.task(persona, "v1.2.3");
    assert.equal(task.waiting_for.signature_required, true);
    const { artifact } = await ann.asked(task);
    assert.deepEqual(JSON.parse(String(artifact.payload.details)), { build: "v1.2.3" });
    assert.equal(stage.deploysOf(task), 0);
    await ann.decide(task, "approve", "go");
    const ended = await stage.ended(task);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    assert.equal(stage.deploysOf(task), 1);
    const { body: receipt } = await stage.client.get(`/v1/receipts/${ended.receipt_id}`);
    const [approval] = receipt.approvals;
    assert.equal((await verifyApprovalProof(approval.quorum_proof.harp)).valid, true);
    const { body: verdict } = await stage.client.post(`/v1/receipts/${ended.receipt_id}/verify`);
    assert.equal(verdict.valid, true, JSON.stringify(verdict));
  });

  test("a signed denial fails the task with the reason", async () => {
    // Given an effect that needs a signature, when the approver denies it, then the task fails and says why.
    const task = await stage.task(persona);
    await ann.decide(task, "deny", "not today");
    const ended = await stage.ended(task);
    assert.equal(ended.failure.code, "approval_denied");
    assert.match(ended.failure.message, /not today/);
    assert.equal(stage.deploysOf(task), 0);
  });

  test("an API answer to an effect that needs a signature is rejected with advice", async () => {
    // Given an effect that needs a signature, when somebody answers over the API, then the answer is refused and says
    // what to do.
    const task = await stage.task(persona);
    const id = task.waiting_for.permission_request_id;
    const answer = await stage.client.post(`/v1/permission-requests/${id}/respond`, { approved: true });
    const { code, message } = errorOf(answer, 422);
    assert.equal(code, "policy_violation");
    assert.match(message, /bridle approver/);
    await ann.decide(task, "deny");
    await stage.ended(task);
  });

  test("an answer that names another artifact than the one shown is rejected", async () => {
    // Given a permission request, when an answer names another artifact than the one that was shown, then it is refused.
    const task = await stage.task(await stage.persona({ channel: "any" }));
    const id = task.waiting_for.permission_request_id;
    const path = `/v1/permission-requests/${id}/respond`;
    const wrong = await stage.client.post(path, { approved: true, artifact_hash: "0".repeat(64) });
    assert.equal(errorOf(wrong, 409).param, "artifact_hash");
    const { request } = await until(
      async () => (await stage.client.get(`/v1/tasks/${task.id}/permission-requests`)).body.data[0],
      ({ approvers }) => approvers.some(({ approver_id }: Json) => approver_id === "ann"),
    );
    const right = await stage.client.post(path, { approved: true, artifact_hash: request.artifact_hash });
    assert.equal(right.status, 200);
    assert.equal((await stage.ended(task)).status, "COMPLETED");
  });

  test("a persona with an unreachable quorum is rejected", async () => {
    // Given a quorum that nobody could reach, when a persona is made with it, then that is refused.
    const answer = await stage.client.post("/v1/personas", {
      name: "x",
      version: "1",
      entry_workflow: "deployer",
      description: "",
      autonomy_tier: "act_with_approval",
      receipt_policy: "required",
      approval_policy: { quorum: 3, approvers: ["ann", "bob"] },
    });
    assert.equal(errorOf(answer, 400).param, "approval_policy.quorum");
  });

  test("a pairing with a wrong fingerprint or without the scope adds no approver", async () => {
    // Given a wrong fingerprint, or a key without the scope, when a pairing is confirmed, then it is refused and nobody
    // is added.
    const begun = await stage.client.post("/v1/approvals/pairings", {});
    const path = `/v1/approvals/pairings/${begun.body.nonce}/confirm`;
    const early = await stage.client.post(path, { fingerprint: "0".repeat(64) });
    assert.equal(errorOf(early, 409).details.state, "initiated");
    const reader = await stage.client.withScopes("approvers:read");
    errorOf(await reader.post("/v1/approvals/pairings", {}), 403);
    errorOf(await stage.client.get("/v1/approvals/pairings/pn-unknown"), 404);
    const { body } = await stage.client.get("/v1/approvals/approvers");
    assert.equal(body.data.length, 1);
  });

  test("HARP-111 revoking an approver voids their signature on a waiting request and is audited", async () => {
    // Given a request that waits, when the approver is revoked, then their signature counts no more, and the audit log
    // says so.
    const bob = await stage.approver("bob");
    const own = await stage.persona({ channel: "harp", approvers: ["bob"] });
    const task = await stage.task(own);
    const request = await bob.asked(task);
    const { body } = await stage.client.get("/v1/approvals/approvers");
    const key = body.data.find(({ approver_id }: Json) => approver_id === "bob");
    const revoked = await stage.client.call(`/v1/approvals/approvers/${key.signer_key_id}`, {
      method: "DELETE",
    });
    assert.equal(revoked.body.state, "revoked");
    const { approver } = bob;
    const mine = await approver.get(request.requestId);
    if (mine !== null && "artifact" in mine) await approver.approve(mine).catch(() => {});
    await stage.client.post(`/v1/tasks/${task.id}/cancel`, {});
    assert.equal((await stage.ended(task)).status, "CANCELED");
    assert.equal(stage.deploysOf(task), 0);
    const headers = stage.client.headers();
    const audit = await (await fetch(`${stage.server.url}/v1/approvals/audit`, { headers })).text();
    const records = audit
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal((await verifyAudit(records)).valid, true);
    assert.ok(records.some(({ event }) => event === "key.revoked"));
  });
});

/** `bridle gateway`, which comes back at the same address when it was killed. */
class GatewayElsewhere {
  readonly #data: string;
  readonly #dispose: () => PromiseLike<void>;
  #server: TestProcess;
  readonly url: string;

  constructor(server: TestProcess, data: { path: string } & AsyncDisposable) {
    this.#server = server;
    this.url = server.url;
    this.#data = data.path;
    this.#dispose = () => data[Symbol.asyncDispose]();
  }

  static async start(): Promise<GatewayElsewhere> {
    const data = await temporaryDirectory();
    return new GatewayElsewhere(await GatewayElsewhere.#run(data.path, await reservedPort()), data);
  }

  static #run(data: string, port: string): Promise<TestProcess> {
    return startProcess({ script: main, args: ["gateway", "--port", port, "--data", data] });
  }

  async key(scope: string): Promise<string> {
    return (await new Client(this.#server).createKey({ scopes: [scope] })).key;
  }

  async restart(): Promise<void> {
    await this.#server.kill();
    this.#server = await GatewayElsewhere.#run(this.#data, new URL(this.url).port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.#dispose();
  }
}

describe("through a gateway elsewhere", () => {
  test("approvals continue after the server or its separate gateway is killed and restarted", async () => {
    // Given a server that asks through a gateway of its own process, when either is killed and started again, then
    // approvals go on where they were.
    await using elsewhere = await GatewayElsewhere.start();
    const enforcerKey = await elsewhere.key("harp:enforcer:office");
    const flags = ["--gateway", elsewhere.url, "--enforcer-id", "office"];
    await using stage = await ApprovalStage.openProcess(flags, { BRIDLE_GATEWAY_KEY: enforcerKey });
    const ann = await stage.approver("ann", {
      url: elsewhere.url,
      key: await elsewhere.key("harp:approver:ann"),
    });
    const persona = await stage.persona();
    const first = await stage.task(persona);
    await ann.decide(first, "approve");
    assert.equal((await stage.ended(first)).status, "COMPLETED");

    // The gateway is away while the task begins to wait, and while the enforcer is started again.
    const second = await stage.task(persona);
    await ann.asked(second);
    await elsewhere.restart();
    await stage.restartProcess();
    await ann.decide(second, "approve");
    assert.equal((await stage.ended(second)).status, "COMPLETED");
    assert.equal(stage.deploysOf(second), 1);
    assert.ok(!stage.server.output().includes(enforcerKey));
  });
});
