/** A server with an approver, and gates in processes of their own with settings of their own. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ApprovalStage, type Person } from "../support/approvals.ts";
import { bridle, type Ended, type RunOptions } from "../support/cli.ts";

/** Good for a gate and for nothing else. */
export async function gateKey({ client }: ApprovalStage): Promise<string> {
  const asking = [
    ...["sessions:read", "sessions:write", "tasks:read", "tasks:write"],
    ...["messages:write", "events:read", "outcomes:read"],
  ];
  const scopes = [...asking, "artifacts:read", "receipts:read"];
  return (await client.createKey({ actor: "gate", scopes })).key;
}

export function gateEnvironment({ directory, server }: ApprovalStage, key: string): Record<string, string> {
  return {
    BRIDLE_URL: server.url,
    BRIDLE_KEY: key,
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, "config"),
    XDG_STATE_HOME: join(directory, "state"),
  };
}

export class GateStage implements AsyncDisposable {
  readonly stage: ApprovalStage;
  readonly ann: Person;
  readonly project: string;

  /** Of a gate, and good for nothing else. */
  readonly key: string;

  private constructor(stage: ApprovalStage, ann: Person, key: string) {
    this.key = key;
    this.stage = stage;
    this.ann = ann;
    this.project = join(stage.directory, "project");
    mkdirSync(this.project);
  }

  static async open(): Promise<GateStage> {
    const stage = await ApprovalStage.open();
    return new GateStage(stage, await stage.approver("ann"), await gateKey(stage));
  }

  get env(): Record<string, string> {
    return gateEnvironment(this.stage, this.key);
  }

  gate(args: string[], { env = {}, ...options }: RunOptions = {}): Promise<Ended> {
    return bridle(["gate", ...args], { cwd: this.project, ...options, env: { ...this.env, ...env } });
  }

  async policy(source: string): Promise<void> {
    writeFileSync(join(this.project, "bridle.gate.yaml"), source);
    await this.gate(["trust"]);
  }

  /** While the command waits, the approver finds it by a text, and decides. */
  async decided(
    command: Promise<Ended>,
    about: string,
    verdict: "approve" | "deny",
    reason?: string,
  ): Promise<Ended> {
    await this.ann.decide(about, verdict, reason);
    return await command;
  }

  /** Signs for all that is offered, where more than one use is. */
  async approveOffered(about: string): Promise<void> {
    await this.ann.asked(about);
    const { approver } = this.ann;
    for await (const request of approver.inbox()) {
      if (!request.isOpened || !JSON.stringify(request.artifact.payload).includes(about)) continue;
      assert.notEqual(request.terms, null);
      await approver.approve(request, { useOfferedTerms: true });
      return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage[Symbol.asyncDispose]();
  }
}
