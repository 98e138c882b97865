/** What happens to the task of the tour, told as it happens, with what each of it means. */

import { isRecord } from "../../sdk/client/errors.ts";
import type { Artifact, BridleEvent, EventPayloads } from "../../sdk/client/index.ts";
import { sizeText } from "../shell/presenter.ts";
import type { Page } from "./page.ts";

/** Said once, below the first of its kind. */
const meanings: Record<string, string> = {
  step: "Its result was on disk before the agent saw it: whatever happens now, this code is not run again.",
  effect:
    "What changes the world. Its persona says whether the agent may; here an agent of yours would send, deploy or pay.",
};

export class Story {
  readonly #page: Page;
  readonly #told = new Set<string>();
  #speech: { step: string; add(text: string): void; end(): void } | null = null;
  /** The one that was asked last. */
  #model = "";
  /** The steps whose results are on disk, in order. */
  readonly recorded: string[] = [];
  /** Where to go on. */
  lastEventId: string | undefined;
  summary = "";

  constructor(page: Page) {
    this.#page = page;
  }

  tell(told: BridleEvent): void {
    this.lastEventId = told.id;
    switch (told.event) {
      case "span.started":
        this.#model = told.payload.model_call?.candidates[0] ?? this.#model;
        break;
      case "span.completed":
        this.#step(told.payload);
        break;
      case "span.updated":
        this.#hear(told.payload.delta);
        break;
      case "artifact.created":
        this.#artifact(told.payload.artifact);
        break;
      case "task.completed":
        this.summary = told.payload.outcome.summary;
        break;
    }
  }

  #step({ step, kind, name, result, model_call }: EventPayloads["span.completed"]): void {
    if (kind === "ask" || kind === "approve" || !("output" in result)) return;
    this.recorded.push(step);
    if (model_call === undefined) this.#page.item(kind, name, inWords(result.output));
    else this.#answer(model_call, result.output);
    const meaning = this.#told.has(kind) ? undefined : meanings[kind];
    this.#told.add(kind);
    if (meaning !== undefined) this.#page.note(meaning);
  }

  #answer({ chosen, usage, usd }: ModelCall, output: unknown): void {
    if (isRecord(output) && output.finish_reason === "tool-calls") {
      this.#page.item("model", chosen?.model ?? this.#model, "asks for a tool: a step of its own");
      return;
    }
    this.#speech?.end();
    this.#speech = null;
    const cost = usd === null ? "" : `, ${usd} USD`;
    this.#page.note(
      `${usage.input_tokens} tokens in, ${usage.output_tokens} out${cost}: recorded like any model's.`,
    );
  }

  #hear(delta: EventPayloads["span.updated"]["delta"]): void {
    if (delta === undefined || typeof delta.text !== "string") return;
    if (this.#speech?.step !== delta.step) {
      this.#speech?.end();
      this.#page.item("model", this.#model, "says:");
      this.#speech = { step: delta.step, ...this.#page.quoting() };
    }
    this.#speech.add(delta.text);
  }

  #artifact({ id, name, bytes, sha256 }: Artifact): void {
    this.#page.item("file", name ?? id, `${sizeText(bytes ?? 0)}, sha256 ${sha256?.slice(0, 12)}…`);
  }
}

type ModelCall = NonNullable<EventPayloads["span.completed"]["model_call"]>;

function inWords(output: unknown): string {
  if (Array.isArray(output)) return `returned ${output.length} changes`;
  return `returned ${JSON.stringify(output)}`;
}
