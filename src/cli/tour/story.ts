/** What happens to the task of the tour, told as it happens, with what each of it means. */

import { type Static, type TSchema, Type } from "typebox";
import { Value } from "typebox/value";
import type { BridleEvent } from "../../sdk/client/index.ts";
import { sizeText } from "../shell/presenter.ts";
import type { Page } from "./page.ts";

const Step = Type.Object({
  step: Type.String(),
  kind: Type.String(),
  name: Type.String(),
  result: Type.Object({ output: Type.Unknown() }),
});
const ModelStep = Type.Object({
  spent: Type.Object({ input_tokens: Type.Number(), output_tokens: Type.Number(), usd: Type.Number() }),
  result: Type.Object({ output: Type.Object({ finish_reason: Type.String(), model: Type.String() }) }),
});
const ModelAsked = Type.Object({
  model_call: Type.Object({ candidates: Type.Array(Type.String(), { minItems: 1 }) }),
});
const Delta = Type.Object({ delta: Type.Object({ step: Type.String(), text: Type.String() }) });
const Artifact = Type.Object({
  artifact: Type.Object({ name: Type.String(), bytes: Type.Integer(), sha256: Type.String() }),
});
const Ended = Type.Object({ outcome: Type.Object({ summary: Type.String() }) });

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

  tell({ id, event, payload }: BridleEvent): void {
    this.lastEventId = id;
    switch (event) {
      case "span.started":
        if (is(ModelAsked, payload)) this.#model = payload.model_call.candidates[0] ?? "";
        break;
      case "span.completed":
        if (is(Step, payload)) this.#step(payload);
        break;
      case "span.updated":
        if (is(Delta, payload)) this.#hear(payload.delta);
        break;
      case "artifact.created":
        if (is(Artifact, payload)) this.#artifact(payload.artifact);
        break;
      case "task.completed":
        if (is(Ended, payload)) this.summary = payload.outcome.summary;
        break;
    }
  }

  #step(step: Static<typeof Step>): void {
    const { kind, name, result } = step;
    if (kind === "ask" || kind === "approve") return;
    this.recorded.push(step.step);
    if (is(ModelStep, step)) this.#answer(step);
    else this.#page.item(kind, name, inWords(result.output));
    const meaning = this.#told.has(kind) ? undefined : meanings[kind];
    this.#told.add(kind);
    if (meaning !== undefined) this.#page.note(meaning);
  }

  #answer({ spent, result }: Static<typeof ModelStep>): void {
    const { model, finish_reason } = result.output;
    if (finish_reason === "tool-calls") {
      this.#page.item("model", model, "asks for a tool: a step of its own");
      return;
    }
    this.#speech?.end();
    this.#speech = null;
    const { input_tokens, output_tokens, usd } = spent;
    this.#page.note(
      `${input_tokens} tokens in, ${output_tokens} out, ${usd} USD: recorded like any model's.`,
    );
  }

  #hear({ step, text }: { step: string; text: string }): void {
    if (this.#speech?.step !== step) {
      this.#speech?.end();
      this.#page.item("model", this.#model, "says:");
      this.#speech = { step, ...this.#page.quoting() };
    }
    this.#speech.add(text);
  }

  #artifact({ name, bytes, sha256 }: Static<typeof Artifact>["artifact"]): void {
    this.#page.item("file", name, `${sizeText(bytes)}, sha256 ${sha256.slice(0, 12)}…`);
  }
}

function inWords(output: unknown): string {
  if (Array.isArray(output)) return `gave ${output.length} changes`;
  return `gave ${JSON.stringify(output)}`;
}

function is<S extends TSchema>(schema: S, value: unknown): value is Static<S> {
  return Value.Check(schema, value);
}
