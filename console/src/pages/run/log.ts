/**
 * A run as its events tell it: what was said, and the steps with when they began and ended. Folded event by event, so that the page of a
 * run that is watched and the page of one that ended long ago are the same.
 */

import {
  type Artifact,
  type BridleEvent,
  type EventOf,
  type EventPayloads,
  type Message,
  type PermissionRequest,
  type StepOutput,
  StepOutputs,
} from "bridle/client";

export interface Step {
  key: string;
  kind: string;
  name: string;
  startedAt: string;
  endedAt: string | null;
  state: "running" | "waiting" | "done" | "failed";
  input: unknown;
  output: unknown;
  error: { code: string; message: string } | null;
  model: ModelUse | null;
  /** What a model says while it says it. */
  text: string;
  childId: string | null;
}

export interface ModelUse {
  name: string | null;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
}

export type Said =
  | { type: "message"; id: string; at: string; message: Message }
  | { type: "question"; id: string; at: string; prompt: string; isOpen: boolean }
  | { type: "approval"; id: string; at: string; request: PermissionRequest }
  | { type: "writing"; id: string; at: string; step: string };

export interface RunView {
  events: readonly BridleEvent[];
  steps: ReadonlyMap<string, Step>;
  said: readonly Said[];
  artifacts: ReadonlyMap<string, Artifact>;
  outputs: ReadonlyMap<string, StepOutput>;
  usage: { steps: number; inputTokens: number; outputTokens: number; usd: number | null };
}

/** Kept by the page; a run that never ends is read on from the raw events of the server. */
export const eventsMax = 50_000;

export class RunLog {
  readonly #events: BridleEvent[] = [];
  readonly #steps = new Map<string, Step>();
  readonly #said: Said[] = [];
  readonly #artifacts = new Map<string, Artifact>();
  readonly #outputs = new StepOutputs();
  /** The step that waits for a person. */
  #asking: string | null = null;

  /** Things that changed are new objects: whoever shows them sees by that what to show again. */
  view(): RunView {
    let [inputTokens, outputTokens] = [0, 0];
    let usd: number | null = null;
    for (const { model } of this.#steps.values()) {
      if (model === null) continue;
      inputTokens += model.inputTokens;
      outputTokens += model.outputTokens;
      if (model.usd !== null) usd = (usd ?? 0) + model.usd;
    }
    return {
      events: [...this.#events],
      steps: new Map(this.#steps),
      said: [...this.#said],
      artifacts: new Map(this.#artifacts),
      outputs: new Map(this.#outputs.all),
      usage: { steps: this.#steps.size, inputTokens, outputTokens, usd },
    };
  }

  add(event: BridleEvent): void {
    if (this.#events.length >= eventsMax) this.#events.shift();
    this.#events.push(event);
    this.#outputs.add(event);
    const { id, created_at: at } = event;
    switch (event.event) {
      case "user.message":
      case "agent.message":
      case "vendor.bridle.message": {
        const { message } = event.payload;
        this.#dropWriting(message);
        this.#said.push({ type: "message", id, at, message });
        break;
      }
      case "task.input_required":
      case "task.auth_required":
        this.#ask(event);
        break;
      case "task.status_changed":
        this.#answered(event);
        break;
      case "tool.approval_required":
        this.#said.push({ type: "approval", id, at, request: event.payload.permission_request });
        break;
      case "tool.approved":
      case "tool.denied":
        this.#endApproval(event);
        break;
      case "span.started":
        this.#begin(event);
        break;
      case "span.updated":
        this.#update(event);
        break;
      case "span.completed":
      case "span.failed":
        this.#end(event);
        break;
      case "artifact.created":
        this.#artifacts.set(event.payload.artifact.id, event.payload.artifact);
        break;
      case "artifact.updated":
        this.#updateArtifact(event.payload);
        break;
    }
  }

  /** What an agent says after its model wrote it is shown once. */
  #dropWriting({ parts }: Message): void {
    const whole = parts.map((part) => ("text" in part ? part.text : "")).join("");
    const n = this.#said.findIndex(
      (said) => said.type === "writing" && this.#steps.get(said.step)?.text === whole,
    );
    if (n !== -1) this.#said.splice(n, 1);
  }

  #ask({ id, event, created_at: at, payload }: EventOf<"task.input_required" | "task.auth_required">): void {
    const { step, prompt } = payload.request;
    this.#asking = step;
    this.#steps.set(step, { ...begun(step, "ask", prompt, at), state: "waiting" });
    if (event === "task.input_required") this.#said.push({ type: "question", id, at, prompt, isOpen: true });
  }

  #answered({ created_at: at, payload }: EventOf<"task.status_changed">): void {
    if (payload.from !== "INPUT_REQUIRED" && payload.from !== "AUTH_REQUIRED") return;
    const step = this.#asking === null ? undefined : this.#steps.get(this.#asking);
    if (step !== undefined) this.#steps.set(step.key, { ...step, endedAt: at, state: "done" });
    this.#asking = null;
    this.#replaceSaid((said) => said.type === "question" && said.isOpen && { ...said, isOpen: false });
  }

  #endApproval({ event, resource, payload }: EventOf<"tool.approved" | "tool.denied">): void {
    const verdict = {
      status: event === "tool.approved" ? "approved" : "denied",
      response: payload.response,
    } as const;
    this.#replaceSaid(
      (said) =>
        said.type === "approval" &&
        said.request.id === resource.id && { ...said, request: { ...said.request, ...verdict } },
    );
  }

  /** Replaces the last entry for which `change` returns another one. */
  #replaceSaid(change: (said: Said) => Said | false): void {
    for (const [n, said] of [...this.#said.entries()].reverse()) {
      const changed = change(said);
      if (changed === false) continue;
      this.#said[n] = changed;
      return;
    }
  }

  #begin({ created_at: at, payload }: EventOf<"span.started">): void {
    const { step, kind, name, until, handoff, host_call, child_task_id } = payload;
    const isWaiting = until !== undefined || handoff !== undefined || host_call !== undefined;
    this.#steps.set(step, {
      ...begun(step, kind, name, at),
      state: isWaiting ? "waiting" : "running",
      input: (payload.model_call ?? payload.tool_call ?? host_call)?.input,
      childId: child_task_id ?? null,
    });
  }

  #update({ id, created_at: at, payload: { delta } }: EventOf<"span.updated">): void {
    if (delta?.type !== "text" || typeof delta.text !== "string") return;
    const step = this.#steps.get(delta.step);
    if (step === undefined) return;
    // A later attempt says everything again.
    this.#steps.set(step.key, { ...step, text: delta.index === 0 ? delta.text : step.text + delta.text });
    const isSaid = this.#said.some((said) => said.type === "writing" && said.step === step.key);
    if (delta.visibility === "public" && !isSaid)
      this.#said.push({ type: "writing", id, at, step: step.key });
  }

  #end({ created_at: at, payload }: EventOf<"span.completed" | "span.failed">): void {
    const { step, kind, name, result, started_at, tool_call, model_call } = payload;
    const base = this.#steps.get(step) ?? begun(step, kind, name, started_at ?? at);
    const error = "error" in result ? result.error : null;
    this.#steps.set(step, {
      ...base,
      endedAt: at,
      state: error === null ? "done" : "failed",
      input: base.input ?? tool_call?.input,
      output: "output" in result ? result.output : undefined,
      error,
      model: model_call === undefined ? base.model : modelUse(model_call),
    });
  }

  #updateArtifact({ artifact_id, completed }: EventPayloads["artifact.updated"]): void {
    const artifact = this.#artifacts.get(artifact_id);
    if (artifact === undefined || completed === null) return;
    const { sha256, bytes } = completed;
    this.#artifacts.set(artifact.id, { ...artifact, complete: true, sha256, bytes });
  }
}

function begun(key: string, kind: string, name: string, startedAt: string): Step {
  return {
    ...{ key, kind, name, startedAt, endedAt: null, state: "running" },
    ...{ input: undefined, output: undefined, error: null, model: null, text: "", childId: null },
  };
}

function modelUse({
  chosen,
  usage,
  usd,
}: NonNullable<EventPayloads["span.completed"]["model_call"]>): ModelUse {
  const name = chosen === null ? null : `${chosen.provider}/${chosen.model}`;
  return { name, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, usd };
}
