/**
 * An enforcer with everything that is ours (kernel, runtime, a real SQLite store) and a gateway in the hands of the test,
 * which may lie, forget, repeat and fall silent. Approvers are people with keys of their own.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { pino } from "pino";
import type { ApproverKey } from "../../src/harp/core/approver-key.ts";
import type { Artifact } from "../../src/harp/core/artifact.ts";
import { signDecision } from "../../src/harp/core/decision.ts";
import { type GatewayLink, GatewayRefusal } from "../../src/harp/core/gateway-link.ts";
import {
  type ApproverKeys,
  bundleOf,
  generateApproverKeys,
  pairingFingerprint,
} from "../../src/harp/core/keys.ts";
import { openRequest } from "../../src/harp/core/open.ts";
import type {
  ApprovalRequest,
  ArtifactAccepted,
  ArtifactSubmit,
  DecisionBody,
  DecisionDeliver,
  RefreshRequest,
} from "../../src/harp/core/wire.ts";
import { withoutGateway } from "../../src/kernel/approvals/access.ts";
import { addApprover } from "../../src/kernel/approvals/change-approvers.ts";
import { listApprovers, readAudit } from "../../src/kernel/approvals/read-approvers.ts";
import { getRecord, listRecords } from "../../src/kernel/core/read.ts";
import { createKernel, type Kernel } from "../../src/kernel/kernel.ts";
import { type Exchange, exchangesOf } from "../../src/kernel/kinds/exchange.ts";
import type { PermissionRequestRecord } from "../../src/kernel/kinds/permission-request.ts";
import type { ApprovalPolicy } from "../../src/kernel/kinds/persona.ts";
import type { TaskRecord } from "../../src/kernel/kinds/task.ts";
import { createPersona } from "../../src/kernel/personas/create-persona.ts";
import { getReceipt } from "../../src/kernel/receipts/read-receipts.ts";
import { Issuer } from "../../src/kernel/receipts/signing.ts";
import { createSession } from "../../src/kernel/sessions/create-session.ts";
import { isFinal } from "../../src/kernel/tasks/lifecycle.ts";
import { submitTask } from "../../src/kernel/tasks/submit-task.ts";
import { defaultTenantId, ensureTenant } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../../src/policy/caller.ts";
import { deriveKey } from "../../src/policy/enforcer-key.ts";
import { newSigningKey } from "../../src/receipts/keys.ts";
import type { Receipt } from "../../src/receipts/schema.ts";
import { type Agent, defineAgent } from "../../src/runtime/agents/agent.ts";
import { AgentRegistry } from "../../src/runtime/agents/registry.ts";
import { startEnforcer } from "../../src/runtime/approvals/enforcer.ts";
import { startRuntime } from "../../src/runtime/runtime.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { until } from "./client.ts";
import { temporaryDirectory } from "./server.ts";

export const caller = systemCaller(defaultTenantId);

/** Keeps what it is given and does nothing by itself. */
export class ScriptedGateway implements GatewayLink {
  readonly enforcerId = "bridle";
  readonly submitted = new Map<string, ArtifactSubmit>();
  readonly withdrawn: string[] = [];
  readonly acknowledged: string[] = [];
  /** When set, everything that it is asked fails with this. */
  problem: Error | null = null;
  readonly #messages: (DecisionDeliver | RefreshRequest)[] = [];
  #wake: () => void = () => {};
  #sent = 0;

  #answer(): void {
    if (this.problem !== null) throw this.problem;
  }

  async submit(envelope: ArtifactSubmit): Promise<ArtifactAccepted> {
    this.#answer();
    const duplicate = this.submitted.has(envelope.requestId);
    if (!duplicate) this.submitted.set(envelope.requestId, envelope);
    const { artifactHash, expiresAt } = envelope.body;
    return {
      ...this.#envelope(envelope.requestId),
      msgType: "artifact.accepted",
      body: { state: "pendingApproval", createdAt: envelope.createdAt, expiresAt, artifactHash, duplicate },
    };
  }

  async withdraw(requestId: string): Promise<void> {
    this.#answer();
    this.withdrawn.push(requestId);
  }

  async status(): Promise<null> {
    return null;
  }

  async acknowledge(_requestId: string, msgId: string): Promise<void> {
    this.#answer();
    this.acknowledged.push(msgId);
  }

  async *messages(signal: AbortSignal): AsyncIterable<DecisionDeliver | RefreshRequest> {
    const onAbort = () => this.#wake();
    signal.addEventListener("abort", onAbort);
    while (!signal.aborted) {
      this.#answer();
      const next = this.#messages.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async initiatePairing(): Promise<never> {
    throw new GatewayRefusal("Forbidden", 403, "not here");
  }

  async pairing(): Promise<null> {
    return null;
  }

  #envelope(requestId: string) {
    this.#sent += 1;
    const createdAt = new Date().toISOString();
    return { msgId: `msg-${this.#sent}`, requestId, createdAt, sender: { gatewayId: "gw" } };
  }

  /** Delivers a decision, whatever it is and whoever made it. Gives the message's id. */
  deliver(requestId: string, body: unknown): string {
    // A gateway can send anything at all; that is the point of this one.
    const message = { ...this.#envelope(requestId), msgType: "decision.deliver", body } as DecisionDeliver;
    this.#messages.push(message);
    this.#wake();
    return message.msgId;
  }

  askForRefresh(requestId: string): void {
    const body = { reason: "an approver asked" };
    this.#messages.push({ ...this.#envelope(requestId), msgType: "refresh.request", body });
    this.#wake();
  }
}

export interface Person {
  approverId: string;
  keys: ApproverKeys;
}

export interface StageOptions {
  directory?: string;
  gateway?: ScriptedGateway;
  agents?: Agent[];
  exchangeMsMax?: number;
  keyWaitMs?: number;
}

/** What the code of effects did, in order. */
export const done: string[] = [];

/** Does one thing that needs an approval, with what it is given. */
export const doer = defineAgent({
  name: "doer",
  version: "1.0.0",
  async run(ctx) {
    const deploy = () => `run ${done.push(`${ctx.taskId} ${ctx.text}`)}`;
    const { output } = await ctx.effect("deploy", deploy, {
      payload: { build: ctx.text, ratio: 0.5 },
      risk: "dangerous",
    });
    return output;
  },
});

const macKey = "the key of this enforcer";

export class EnforcementStage {
  readonly kernel: Kernel;
  readonly gateway: ScriptedGateway;
  readonly directory: string;
  readonly clock: { offsetMs: number };
  readonly #close: () => Promise<void>;

  private constructor(
    kernel: Kernel,
    parts: {
      gateway: ScriptedGateway;
      directory: string;
      clock: { offsetMs: number };
      close(): Promise<void>;
    },
  ) {
    this.kernel = kernel;
    this.gateway = parts.gateway;
    this.directory = parts.directory;
    this.clock = parts.clock;
    this.#close = parts.close;
  }

  static async open(options: StageOptions = {}): Promise<EnforcementStage> {
    const own = options.directory === undefined ? await temporaryDirectory() : null;
    const directory = options.directory ?? own?.path ?? "";
    const gateway = options.gateway ?? new ScriptedGateway();
    const clock = { offsetMs: 0 };
    const store = await openSqliteStore(directory);
    const agents = new AgentRegistry([doer, ...(options.agents ?? [])]);
    const kernel = createKernel({
      store,
      clock: { now: () => Date.now() + clock.offsetMs },
      agents,
      issuer: new Issuer(newSigningKey().key, () => {}),
      approvals: {
        ...withoutGateway(),
        derive: (label) => deriveKey(Buffer.from(macKey), label),
        mac: (purpose, text) => createHmac("sha256", macKey).update(`${purpose}\n${text}`).digest("hex"),
        linkOf: () => gateway,
        ...(options.exchangeMsMax === undefined ? {} : { exchangeMsMax: options.exchangeMsMax }),
        ...(options.keyWaitMs === undefined ? {} : { keyWaitMs: options.keyWaitMs }),
      },
    });
    await kernel.dispatch(ensureTenant, caller, { tenantId: defaultTenantId });
    await kernel.receipts.start();
    const logger = pino({ level: "silent" });
    const runtime = await startRuntime({ kernel, agents, logger, concurrency: 8 });
    const stopEnforcer = await startEnforcer({ kernel, logger });
    const close = async () => {
      await stopEnforcer();
      await runtime.drain(0);
      await kernel.receipts.close(0);
      kernel.tail.close();
      await store.close();
      await own?.[Symbol.asyncDispose]();
    };
    return new EnforcementStage(kernel, { gateway, directory, clock, close });
  }

  /** A person whose key is in the list, as if paired. */
  async person(
    approverId: string,
    replaces?: { of: Person; overlapMs: number },
    label?: string,
  ): Promise<Person> {
    const keys = await generateApproverKeys(new Date(this.kernel.clock.now()));
    const fingerprint = await pairingFingerprint(keys.ed25519.publicKey, keys.x25519.publicKey);
    await this.kernel.dispatch(addApprover, caller, {
      approverId,
      bundle: bundleOf(keys),
      fingerprint,
      replaces: replaces?.of.keys.signerKeyId,
      overlapMs: replaces?.overlapMs,
      label,
    });
    return { approverId, keys };
  }

  async persona(approval_policy: ApprovalPolicy = { channel: "harp" }, agent = "doer"): Promise<string> {
    const { result } = await this.kernel.dispatch(createPersona, caller, {
      name: agent,
      version: "1",
      entry_workflow: agent,
      description: "",
      autonomy_tier: "act_with_approval",
      receipt_policy: "required",
      approval_policy,
    });
    return result.id;
  }

  /** The keys of all approvers, by fingerprint. */
  async keyOf({ keys }: Person): Promise<ApproverKey | undefined> {
    const known = await listApprovers(this.kernel, caller);
    return known.find(({ signerKeyId }) => signerKeyId === keys.signerKeyId);
  }

  /** The exchange about the change that waits, with somebody who is asked. */
  async askedAboutChange({ approverId }: Person): Promise<Exchange> {
    const found = await until(
      async () => {
        const { data } = await listRecords(this.kernel, caller, "policy_change", {});
        const pending = data.filter(({ status }) => status === "pending").flatMap(exchangesOf);
        return pending.find(
          ({ approver_id, state }) => approver_id === approverId && state === "AWAITING_DECISION",
        );
      },
      (exchange) => exchange !== undefined,
    );
    assert.ok(found !== undefined);
    return found;
  }

  /** A task that waits for its approval. */
  async task(personaId: string, text = "v1"): Promise<TaskRecord> {
    const { result: session } = await this.kernel.dispatch(createSession, caller, {
      workspaceId: "workspace_default",
    });
    const input = { payload: { text } };
    const { result } = await this.kernel.dispatch(submitTask, caller, {
      sessionId: session.id,
      personaId,
      input,
    });
    return await this.until(result.id, ({ status }) => status === "AUTH_REQUIRED" || isFinal(status));
  }

  until(taskId: string, holds: (task: TaskRecord) => boolean): Promise<TaskRecord> {
    return until(() => getRecord(this.kernel, caller, "task", taskId), holds);
  }

  ended(task: TaskRecord): Promise<TaskRecord> {
    return this.until(task.id, ({ status }) => isFinal(status));
  }

  async receipt({ outcome }: TaskRecord): Promise<Receipt> {
    await this.kernel.receipts.caughtUp();
    return await getReceipt(this.kernel, caller, outcome?.receipt_id ?? "");
  }

  async request(task: TaskRecord): Promise<PermissionRequestRecord> {
    const { data } = await listRecords(this.kernel, caller, "permission_request", { taskId: task.id });
    const [request] = data;
    assert.ok(request !== undefined, "the task has asked");
    return request;
  }

  /** The exchange with an approver that the gateway has and that can be decided. */
  async asked(
    task: TaskRecord,
    person: Person,
    holds: (exchange: Exchange) => boolean = () => true,
  ): Promise<Exchange> {
    const found = await until(
      async () =>
        exchangesOf(await this.request(task)).find(
          (exchange) =>
            exchange.approver_id === person.approverId &&
            exchange.state === "AWAITING_DECISION" &&
            holds(exchange),
        ),
      (exchange) => exchange !== undefined,
    );
    assert.ok(found !== undefined);
    return found;
  }

  /** What the approver's device makes of what the gateway has. */
  async opened(person: Person, requestId: string): Promise<Artifact> {
    const submitted = this.gateway.submitted.get(requestId);
    assert.ok(submitted !== undefined, `${requestId} was submitted`);
    return await openSubmitted(submitted, person, this.kernel.clock.now());
  }

  async signed(
    person: Person,
    requestId: string,
    decision: "allow" | "deny" = "allow",
  ): Promise<DecisionBody> {
    return await signDecision({
      artifact: await this.opened(person, requestId),
      decision,
      keys: person.keys,
    });
  }

  /** Everything that was audited so far. */
  async audit(): Promise<Record<string, unknown>[]> {
    const records: Record<string, unknown>[] = [];
    for await (const record of readAudit(this.kernel, caller)) records.push({ ...record });
    return records;
  }

  /** Waits until a message was judged, and gives the refusals of it. */
  async judged(msgId: string): Promise<Record<string, unknown>[]> {
    await until(async () => this.gateway.acknowledged.includes(msgId), Boolean);
    return (await this.audit()).filter(({ event }) => event === "decision.refused");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** What the device of somebody makes of what an enforcer sent to a gateway. */
export async function openSubmitted(
  { requestId, createdAt, body }: ArtifactSubmit,
  { keys, approverId }: Person,
  nowMs: number,
): Promise<Artifact> {
  const { artifactType, artifactHash, ciphertext, expiresAt } = body;
  const request: ApprovalRequest = {
    msgId: "msg-approval",
    msgType: "approval.request",
    requestId,
    createdAt,
    expiresAt,
    sender: { gatewayId: "gw" },
    recipient: { approverId },
    body: { artifactType, artifactHash, ciphertextRef: { kind: "inline", ...ciphertext } },
  };
  return await openRequest(request, keys, nowMs);
}

export function runsOf(task: TaskRecord): number {
  return done.filter((line) => line.startsWith(task.id)).length;
}
