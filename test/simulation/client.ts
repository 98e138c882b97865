/**
 * Somebody outside who gives a task, answers its questions and perhaps cancels it. What is not answered is asked again under the same
 * key; what was acknowledged is remembered.
 */

import assert from "node:assert/strict";
import { respondPermissionRequest } from "../../src/kernel/approvals/respond-permission-request.ts";
import type { Command } from "../../src/kernel/core/dispatch.ts";
import { HarnessError } from "../../src/kernel/core/errors.ts";
import type { WholeKernel } from "../../src/kernel/kernel.ts";
import { textPart } from "../../src/kernel/kinds/message.ts";
import type { PendingRequest, TaskRecord } from "../../src/kernel/kinds/task.ts";
import { updatePersona } from "../../src/kernel/personas/update-persona.ts";
import { createPushConfig } from "../../src/kernel/push/create-push-config.ts";
import { createSession } from "../../src/kernel/sessions/create-session.ts";
import { appendTaskMessage } from "../../src/kernel/tasks/append-task-message.ts";
import { cancelTask } from "../../src/kernel/tasks/cancel-task.ts";
import { isFinal } from "../../src/kernel/tasks/lifecycle.ts";
import { signalTask } from "../../src/kernel/tasks/signal-task.ts";
import { submitTask } from "../../src/kernel/tasks/submit-task.ts";
import { defaultTenantId, nameIn, personaIdOf } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { worker } from "./agents.ts";
import type { Machine } from "./machine.ts";
import { ConnectionLost } from "./network.ts";
import type { TaskPlan } from "./plan.ts";
import { system } from "./process.ts";

const lookEveryMs = 150;
const againMs = 200;
/** Those after which the same request is sent again. */
const passing = new Set(["service_unavailable", "write_outcome_unknown", "conflict"]);

export interface Access {
  machine: Machine;
  /** The agents' effects are approved first. */
  hasApprovals: boolean;
  /** Carries something out in the process that answers now. */
  ask<T>(act: (kernel: WholeKernel) => Promise<T>): Promise<T>;
}

export class Client {
  readonly plan: TaskPlan;
  readonly name: string;
  taskId: string | null = null;
  /** When it was acknowledged that the task is canceled. */
  isCanceled = false;
  hasWebhook = false;
  isDone = false;
  /** Ids that one request was answered with; there is to be one. */
  readonly #answers = new Map<string, string>();
  readonly #access: Access;

  constructor(plan: TaskPlan, name: string, access: Access) {
    this.plan = plan;
    this.name = name;
    this.#access = access;
  }

  async run(): Promise<void> {
    const { machine } = this.#access;
    const { plan } = this;
    await machine.pause(plan.at);
    const workspaceId = nameIn(defaultTenantId, "workspace_default");
    const personaId = personaIdOf(worker, defaultTenantId);
    const changes = { autonomy_tier: this.#access.hasApprovals ? "act_with_approval" : "act_auto" } as const;
    await this.#insist("persona", updatePersona, { personaId, changes });
    const session = await this.#insist("session", createSession, { workspaceId, personaId });
    const input = { payload: { acts: plan.acts } };
    const task = await this.#insist("task", submitTask, { sessionId: session.id, input });
    this.taskId = task.id;
    await Promise.all([this.#hook(task.id), this.#signals(task.id), this.#cancel(task.id)]);
    await this.#attend(task.id);
    this.isDone = true;
  }

  async #hook(taskId: string): Promise<void> {
    if (!this.plan.webhook) return;
    const config = { id: "hook", url: `https://hooks.test/${this.name}`, version: "1.0" as const };
    await this.#insist("hook", createPushConfig, { taskId, config });
    this.hasWebhook = true;
  }

  async #signals(taskId: string): Promise<void> {
    const wanted = this.plan.acts.filter((act) => act === "signal").length;
    for (let n = 0; n < wanted; n++) {
      await this.#try(`signal${n}`, signalTask, { taskId, name: "go", payload: n });
    }
  }

  async #cancel(taskId: string): Promise<void> {
    const { cancelAfter } = this.plan;
    if (cancelAfter === null) return;
    await this.#access.machine.pause(cancelAfter);
    const canceled = await this.#try("cancel", cancelTask, { taskId });
    this.isCanceled = canceled?.status === "CANCELED";
  }

  /** Answers whatever the task asks, until it is over. */
  async #attend(taskId: string): Promise<void> {
    while (true) {
      await this.#access.machine.pause(lookEveryMs);
      const task = await this.#look(taskId);
      if (task === null) continue;
      if (isFinal(task.status)) return;
      if (task.pending !== null) await this.#answer(task.id, task.pending);
    }
  }

  async #look(taskId: string): Promise<TaskRecord | null> {
    try {
      const found = await this.#access.ask((kernel) => kernel.store.of(defaultTenantId).get("task", taskId));
      assert.ok(found !== undefined, `${taskId} was acknowledged and is not there`);
      return found.body as TaskRecord;
    } catch (error) {
      if (error instanceof ConnectionLost) return null;
      throw error;
    }
  }

  async #answer(taskId: string, { kind, step, permission_request_id }: PendingRequest): Promise<void> {
    if (kind === "approval") {
      const approved = !this.plan.denies;
      const answer = { requestId: permission_request_id ?? "", approved, reason: null };
      await this.#try(`decide ${step}`, respondPermissionRequest, answer);
      return;
    }
    const message = { role: "user" as const, parts: [textPart(`answer to ${step}`)] };
    await this.#try(`answer ${step}`, appendTaskMessage, { taskId, kind: "input", message });
  }

  /** Until it is answered, whatever happens to the process meanwhile. */
  async #insist<Request, Result extends { id: string }>(
    name: string,
    command: Command<Request, Result>,
    request: Request,
  ): Promise<Result> {
    while (true) {
      const result = await this.#once(name, command, request);
      if (result !== null) return result;
      await this.#access.machine.pause(againMs);
    }
  }

  /** The same for what may be refused by then: the task went on without it. */
  async #try<Request, Result extends { id: string }>(
    name: string,
    command: Command<Request, Result>,
    request: Request,
  ): Promise<Result | null> {
    try {
      return await this.#insist(name, command, request);
    } catch (error) {
      if (error instanceof HarnessError && late.has(error.code)) return null;
      throw error;
    }
  }

  async #once<Request, Result extends { id: string }>(
    name: string,
    command: Command<Request, Result>,
    request: Request,
  ): Promise<Result | null> {
    const idempotency = { key: `${this.name} ${name}`, target: command.name, body: request };
    try {
      const { result } = await this.#access.ask((kernel) =>
        kernel.dispatch(command, system, request, idempotency),
      );
      const before = this.#answers.get(name) ?? result.id;
      assert.equal(result.id, before, `${this.name}: ${name} is answered the same again`);
      this.#answers.set(name, before);
      return result;
    } catch (error) {
      if (error instanceof ConnectionLost) return null;
      // A conflict says that the task is over, or that it was busy: those who look again find out.
      if (error instanceof HarnessError && passing.has(error.code) && !isOver(error)) return null;
      throw error;
    }
  }
}

/** Refusals of what came too late. */
const late = new Set(["conflict", "invalid_state_transition", "invalid_request", "resource_not_found"]);

function isOver({ code, details }: HarnessError): boolean {
  return code === "conflict" && typeof details.status === "string";
}
