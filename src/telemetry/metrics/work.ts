/**
 * What the log tells of tasks, steps, models, tools, people and webhooks, counted as it is committed. Nothing else counts any of
 * this: whatever becomes a fact is counted once, whichever way it came about.
 */

import type { Registry } from "prom-client";
import {
  asKernelEvent,
  type EventPayloads,
  type KernelEvent,
  type StepSpan,
} from "../../kernel/core/events.ts";
import type { ModelCallEnded } from "../../kernel/kinds/model-call.ts";
import { limitNames, quotaScopes } from "../../kernel/kinds/quota.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { AgentDirectory } from "../../kernel/personas/agents.ts";
import type { Store, StoredEvent } from "../../store/port.ts";
import { workMetrics } from "./definitions.ts";
import { eventCounters } from "./event-counters.ts";
import { type Instruments, instrumentsOf } from "./instruments.ts";
import { ownFailureCodes, stepKinds } from "./label-values.ts";
import { FirstSeen, oneOf, other } from "./labels.ts";
import type { Harmless } from "./metrics.ts";

export interface WorkOptions {
  store: Store;
  agents: AgentDirectory;
  now(): number;
  /** The tools that are known by name, beside those of the agents that are loaded. */
  tools: readonly string[];
  mcpServers: readonly string[];
}

/** An import brings events of another time: they did not happen here. What happens here is told within a moment. */
const heardWithinMs = 60 * 60 * 1000;
/** Only models that answered get here, through providers that the operator set up; who asks for many still makes no more series. */
const modelsMax = 50;
/** Model calls under way whose beginning is remembered. */
const begunMax = 10_000;

type Span = EventPayloads["span.completed"] | EventPayloads["span.failed"];

export class WorkMetrics {
  readonly #count: Instruments<typeof workMetrics>;
  readonly #options: WorkOptions;
  readonly #hearOne: (event: KernelEvent) => void;
  readonly #notCounted: (error: unknown) => void;
  readonly #plain: ReadonlyMap<string, () => void>;
  readonly #tools: ReadonlySet<string>;
  readonly #limits = new Set<string>(limitNames);
  readonly #scopes = new Set<string>(quotaScopes);
  readonly #models = new FirstSeen(modelsMax);
  /** When each model call under way began, oldest first. */
  readonly #begun = new Map<string, number>();
  #oldest = { madeAt: Number.NEGATIVE_INFINITY, at: "" };

  constructor(registry: Registry, options: WorkOptions, harmless: Harmless) {
    this.#count = instrumentsOf(workMetrics, registry);
    this.#options = options;
    // One that cannot be counted is no reason not to count the others.
    this.#hearOne = harmless((event: KernelEvent) => this.#hear(event));
    this.#notCounted = harmless((error: unknown) => {
      throw error;
    });
    this.#tools = new Set([...options.tools, ...options.mcpServers.map((server) => `mcp:${server}`)]);
    this.#plain = eventCounters(this.#count);
  }

  /** Called with every commit, so it does no more than it must. */
  hear(events: readonly StoredEvent[]): void {
    const oldest = this.#oldestHeard();
    for (const event of events.map(asKernelEvent)) {
      // What a replay copies has happened before; what it does live happens now, and costs.
      if (event.replay?.is_copy !== true && event.createdAt >= oldest) this.#hearOne(event);
    }
  }

  /** As times are written in the log, where they sort as they are; made anew now and then, because making it takes a while. */
  #oldestHeard(): string {
    const now = this.#options.now();
    if (now - this.#oldest.madeAt < heardWithinMs / 60) return this.#oldest.at;
    this.#oldest = { madeAt: now, at: new Date(now - heardWithinMs).toISOString() };
    return this.#oldest.at;
  }

  #hear(event: KernelEvent): void {
    const count = this.#count;
    this.#plain.get(event.event)?.();
    switch (event.event) {
      case "task.submitted":
        count.tasksSubmitted.inc({ agent: this.#agent(event.payload.task.agent.name) });
        break;
      case "task.started":
        this.#readTask(event, (task) =>
          count.taskQueueSeconds.observe(secondsBetween(task.created_at, event.createdAt)),
        );
        break;
      case "task.failed":
        count.taskFailures.inc({ code: oneOf(ownFailureCodes, event.payload.failure.code) });
        this.#ended(event, "failed");
        break;
      case "task.completed":
        this.#ended(event, "completed");
        break;
      case "task.canceled":
        this.#ended(event, "canceled");
        break;
      case "span.started":
        if (event.payload.model_call !== undefined) this.#begin(event, event.payload.step);
        break;
      case "span.completed":
        this.#step(event, event.payload, event.payload.simulated === undefined ? "completed" : "simulated");
        break;
      case "span.failed":
        this.#step(event, event.payload, "failed");
        break;
      case "vendor.bridle.step.attempt_failed":
        count.steps.inc({ kind: oneOf(stepKinds, event.payload.kind), outcome: "retried" });
        break;
      // What was delivered before an attempt failed is told with the failure.
      case "vendor.bridle.push_config.delivered":
      case "vendor.bridle.push_config.attempt_failed":
      case "vendor.bridle.push_config.gave_up":
        count.webhooks.inc({ event: "delivered" }, event.payload.count);
        break;
      case "connector.normalized":
        count.connectors.inc({ event: event.payload.status === "accepted" ? "accepted" : "ignored" });
        break;
      case "vendor.bridle.quota.exhausted": {
        const { scope, limit } = event.payload;
        // The task that came to the limit is told the same.
        if (event.resource.object === "quota")
          count.quotas.inc({ scope: oneOf(this.#scopes, scope), limit: oneOf(this.#limits, limit) });
        break;
      }
    }
  }

  #agent(name: string): string {
    return this.#options.agents.has(name, null) ? name : other;
  }

  /** Agents, and their tools with them, may be loaded later. */
  #tool(name: string): string {
    const isKnown =
      this.#tools.has(name) ||
      this.#options.agents.list().some(({ tools }) => tools.some((tool) => tool.name === name));
    return isKnown ? name : other;
  }

  #ended(event: KernelEvent, status: string): void {
    this.#readTask(event, (task) => {
      this.#count.tasksEnded.inc({ agent: this.#agent(task.agent.name), status });
      this.#count.taskSeconds.observe({ status }, secondsBetween(task.created_at, event.createdAt));
    });
  }

  /** What was committed with the event is in the store's memory, so that nothing is read from the disk. */
  #readTask({ resource, tenantId }: KernelEvent, count: (task: TaskRecord) => void): void {
    const store = this.#options.store.of(tenantId);
    const known = store.known("task", resource.id);
    if (known !== undefined) {
      count(known.body as TaskRecord);
      return;
    }
    void store
      .get("task", resource.id)
      .then((document) => document !== undefined && count(document.body as TaskRecord))
      .catch(this.#notCounted);
  }

  #step(event: KernelEvent, span: Span, outcome: string): void {
    this.#count.steps.inc({ kind: oneOf(stepKinds, span.kind), outcome });
    if (isToolCall(span, outcome)) {
      this.#count.toolCalls.inc({ tool: this.#tool(toolOf(span)), outcome });
    }
    if (span.model_call !== undefined) this.#modelCall(event, span.step, span.model_call, outcome);
  }

  #modelCall(event: KernelEvent, step: string, call: ModelCallEnded, outcome: string): void {
    const { modelCalls, modelAttempts, modelTokens, modelDollars, modelSeconds } = this.#count;
    const labels = this.#modelOf(call);
    modelCalls.inc({ ...labels, outcome });
    modelAttempts.inc(labels, call.attempts);
    modelTokens.inc({ ...labels, direction: "input" }, call.usage.input_tokens);
    modelTokens.inc({ ...labels, direction: "output" }, call.usage.output_tokens);
    if (call.usd !== null) modelDollars.inc(labels, call.usd);
    const begunAt = this.#begun.get(keyOf(event, step));
    if (begunAt === undefined) return;
    this.#begun.delete(keyOf(event, step));
    modelSeconds.observe(labels, Math.max(0, Date.parse(event.createdAt) - begunAt) / 1000);
  }

  #modelOf({ chosen }: ModelCallEnded): { provider: string; model: string } {
    if (chosen === null) return { provider: "none", model: "none" };
    const { provider, model } = chosen;
    const isNamed = this.#models.label(`${provider}/${model}`) !== other;
    return isNamed ? { provider, model } : { provider: other, model: other };
  }

  #begin(event: KernelEvent, step: string): void {
    const [oldest] = this.#begun.size < begunMax ? [] : this.#begun.keys();
    if (oldest !== undefined) this.#begun.delete(oldest);
    this.#begun.set(keyOf(event, step), Date.parse(event.createdAt));
  }
}

function keyOf({ taskId }: KernelEvent, step: string): string {
  return `${taskId} ${step}`;
}

/** Asking a server for its tools is none, nor is what was refused before it was made. */
function isToolCall({ kind, tool_call }: Span, outcome: string): boolean {
  return tool_call !== undefined || (outcome === "simulated" && (kind === "tool" || kind === "mcp"));
}

/** The tools of a server are its own business; `server.tool` is told of the server. */
function toolOf({ kind, name }: StepSpan): string {
  return kind === "mcp" ? `mcp:${name.split(".", 1)[0]}` : name;
}

function secondsBetween(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from)) / 1000;
}
