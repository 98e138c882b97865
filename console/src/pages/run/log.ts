/**
 * A run as its events tell it: what was said, and the steps with when they began and ended. Folded event by event, so that the page of a
 * run that is watched and the page of one that ended long ago are the same.
 */

import type { Artifact, BridleEvent, Message, PermissionRequest } from "bridle/client";
import { isRecord, stringIn } from "./words.ts";

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
  usage: { steps: number; inputTokens: number; outputTokens: number; usd: number | null };
}

/** Kept by the page; a run that never ends is read on from the raw events of the server. */
export const eventsMax = 50_000;

export class RunLog {
  readonly #events: BridleEvent[] = [];
  readonly #steps = new Map<string, Step>();
  readonly #said: Said[] = [];
  readonly #artifacts = new Map<string, Artifact>();
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
      usage: { steps: this.#steps.size, inputTokens, outputTokens, usd },
    };
  }

  add(event: BridleEvent): void {
    if (this.#events.length >= eventsMax) this.#events.shift();
    this.#events.push(event);
    const { payload } = event;
    switch (event.event) {
      case "user.message":
      case "agent.message":
      case "vendor.bridle.message":
        this.#addMessage(event);
        break;
      case "task.input_required":
      case "task.auth_required":
        this.#ask(event);
        break;
      case "task.status_changed":
        this.#answered(event);
        break;
      case "tool.approval_required":
        this.#addApproval(event);
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
        this.#addArtifact(payload.artifact);
        break;
      case "artifact.updated":
        this.#updateArtifact(payload);
        break;
    }
  }

  #addMessage({ id, created_at: at, payload }: BridleEvent): void {
    if (!isRecord(payload.message)) return;
    // As the server presents it: the event is made from the schema of this type.
    const message = payload.message as Message;
    this.#dropWriting(message);
    this.#said.push({ type: "message", id, at, message });
  }

  /** What an agent says after its model wrote it is shown once. */
  #dropWriting({ parts }: Message): void {
    const whole = parts.map((part) => ("text" in part ? part.text : "")).join("");
    const n = this.#said.findIndex(
      (said) => said.type === "writing" && this.#steps.get(said.step)?.text === whole,
    );
    if (n !== -1) this.#said.splice(n, 1);
  }

  #ask({ id, event, created_at: at, payload }: BridleEvent): void {
    const step = stringIn(payload.request, "step") ?? id;
    const prompt = stringIn(payload.request, "prompt") ?? "";
    this.#asking = step;
    this.#steps.set(step, { ...begun(step, "ask", prompt, at), state: "waiting" });
    if (event === "task.input_required") this.#said.push({ type: "question", id, at, prompt, isOpen: true });
  }

  #answered({ created_at: at, payload }: BridleEvent): void {
    if (payload.from !== "INPUT_REQUIRED" && payload.from !== "AUTH_REQUIRED") return;
    const step = this.#asking === null ? undefined : this.#steps.get(this.#asking);
    if (step !== undefined) this.#steps.set(step.key, { ...step, endedAt: at, state: "done" });
    this.#asking = null;
    this.#replaceSaid(
      (said) => said.type === "question" && said.isOpen,
      (said) => ({ ...said, isOpen: false }) as Said,
    );
  }

  #addApproval({ id, created_at: at, payload }: BridleEvent): void {
    // As above.
    const request = payload.permission_request as PermissionRequest;
    this.#said.push({ type: "approval", id, at, request });
  }

  #endApproval({ event, resource, payload }: BridleEvent): void {
    this.#replaceSaid(
      (said) => said.type === "approval" && said.request.id === resource.id,
      (said) =>
        said.type !== "approval"
          ? said
          : {
              ...said,
              request: {
                ...said.request,
                status: event === "tool.approved" ? "approved" : "denied",
                response: payload.response,
              },
            },
    );
  }

  #replaceSaid(isMeant: (said: Said) => boolean, change: (said: Said) => Said): void {
    const n = this.#said.findLastIndex(isMeant);
    const said = this.#said[n];
    if (said !== undefined) this.#said[n] = change(said);
  }

  #begin({ created_at: at, payload }: BridleEvent): void {
    const [key, kind, name] = [
      stringIn(payload, "step"),
      stringIn(payload, "kind"),
      stringIn(payload, "name"),
    ];
    if (key === null) return;
    const isWaiting =
      payload.until !== undefined || payload.handoff !== undefined || payload.host_call !== undefined;
    this.#steps.set(key, {
      ...begun(key, kind ?? "step", name ?? key, at),
      state: isWaiting ? "waiting" : "running",
      input: inputOf(payload),
      childId: stringIn(payload, "child_task_id"),
    });
  }

  #update({ id, created_at: at, payload }: BridleEvent): void {
    const { delta } = payload;
    const key = stringIn(delta, "step");
    const step = key === null ? undefined : this.#steps.get(key);
    const piece = stringIn(delta, "text");
    if (step === undefined || piece === null || stringIn(delta, "type") !== "text") return;
    // A later attempt says everything again.
    const isFirst = isRecord(delta) && delta.index === 0;
    this.#steps.set(step.key, { ...step, text: isFirst ? piece : step.text + piece });
    const isPublic = stringIn(delta, "visibility") === "public";
    const isSaid = this.#said.some((said) => said.type === "writing" && said.step === step.key);
    if (isPublic && !isSaid) this.#said.push({ type: "writing", id, at, step: step.key });
  }

  #end({ created_at: at, payload }: BridleEvent): void {
    const key = stringIn(payload, "step");
    if (key === null) return;
    const known = this.#steps.get(key);
    const startedAt = known?.startedAt ?? stringIn(payload, "started_at") ?? at;
    const base =
      known ?? begun(key, stringIn(payload, "kind") ?? "step", stringIn(payload, "name") ?? key, startedAt);
    const error = isRecord(payload.result) ? failureIn(payload.result.error) : null;
    this.#steps.set(key, {
      ...base,
      endedAt: at,
      state: error === null ? "done" : "failed",
      input: base.input ?? inputOf(payload),
      output: isRecord(payload.result) ? payload.result.output : undefined,
      error,
      model: modelIn(payload.model_call) ?? base.model,
    });
  }

  #addArtifact(artifact: unknown): void {
    const id = stringIn(artifact, "id");
    // As above.
    if (id !== null) this.#artifacts.set(id, artifact as Artifact);
  }

  #updateArtifact({ artifact_id, completed }: BridleEvent["payload"]): void {
    const artifact = this.#artifacts.get(String(artifact_id));
    if (artifact === undefined || !isRecord(completed)) return;
    const { sha256, bytes } = completed;
    this.#artifacts.set(artifact.id, {
      ...artifact,
      complete: true,
      sha256: typeof sha256 === "string" ? sha256 : artifact.sha256,
      bytes: typeof bytes === "number" ? bytes : artifact.bytes,
    });
  }
}

function begun(key: string, kind: string, name: string, startedAt: string): Step {
  return {
    ...{ key, kind, name, startedAt, endedAt: null, state: "running" },
    ...{ input: undefined, output: undefined, error: null, model: null, text: "", childId: null },
  };
}

function inputOf({ model_call, tool_call, host_call }: BridleEvent["payload"]): unknown {
  for (const call of [model_call, tool_call, host_call])
    if (isRecord(call) && "input" in call) return call.input;
  return undefined;
}

function failureIn(error: unknown): Step["error"] {
  if (!isRecord(error)) return null;
  return { code: stringIn(error, "code") ?? "error", message: stringIn(error, "message") ?? "" };
}

function modelIn(call: unknown): ModelUse | null {
  if (!isRecord(call) || !isRecord(call.usage)) return null;
  const { input_tokens, output_tokens } = call.usage;
  const [provider, model] = [stringIn(call.chosen, "provider"), stringIn(call.chosen, "model")];
  return {
    name: provider === null || model === null ? null : `${provider}/${model}`,
    inputTokens: Number(input_tokens) || 0,
    outputTokens: Number(output_tokens) || 0,
    usd: typeof call.usd === "number" ? call.usd : null,
  };
}
