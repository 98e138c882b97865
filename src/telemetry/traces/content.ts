/**
 * What was said, for operators who want it in their traces: in the shape of the conventions, without secrets, cut where it gets long.
 * Messages that an earlier call of the same task had already are in the span of that call, and not said again.
 */

import { type BlobSource, type Content, unsealShown } from "../../kernel/core/content.ts";
import type { ModelCallBegun } from "../../kernel/kinds/model-call.ts";
import type { ModelMessage, ReasoningContent, ToolOutput } from "../../models/messages.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { redactLong, type SearchTexts } from "../../policy/redact/search-budget.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { type Attributes, known } from "./span.ts";

/** Of one attribute. */
const contentCharsMax = 8192;

export class ContentReader {
  readonly #source: BlobSource;
  readonly #redactor: Redactor;
  readonly #searchTexts: SearchTexts;
  readonly isWanted: boolean;

  constructor(options: {
    source: BlobSource;
    redactor: Redactor;
    searchTexts: SearchTexts;
    isWanted: boolean;
  }) {
    this.#source = options.source;
    this.#redactor = options.redactor;
    this.#searchTexts = options.searchTexts;
    this.isWanted = options.isWanted;
  }

  /** Nothing for what was erased. */
  async open<T>(content: Content<T>): Promise<T | null> {
    const found = await unsealShown(content, this.#source);
    return "value" in found ? found.value : null;
  }

  async text(text: string): Promise<string | null> {
    if (!this.isWanted) return null;
    return cut(await redactLong(this.#searchTexts, this.#redactor, (redactor) => redactor.text(text)));
  }

  async json(value: JsonValue | undefined): Promise<string | null> {
    if (value === undefined || !this.isWanted) return null;
    // As a value, because the name of a member can say that it is a secret.
    const redacted = await redactLong(this.#searchTexts, this.#redactor, (redactor) => redactor.value(value));
    return await this.text(JSON.stringify(redacted));
  }

  async sealed(content: Content<JsonValue> | undefined): Promise<string | null> {
    if (!this.isWanted || content === undefined) return null;
    return await this.json((await this.open(content)) ?? undefined);
  }

  /** What the model was told for the first time. */
  async input({ input }: ModelCallBegun): Promise<Attributes> {
    if (!this.isWanted) return {};
    const opened: (JsonValue | null)[] = [];
    for (const piece of input) if ("content" in piece) opened.push(await this.open(piece.content));
    // Content of a model's input is written by the runtime only, a message each.
    const messages = opened.filter((message) => message !== null) as ModelMessage[];
    const system = messages.filter(({ role }) => role === "system").flatMap(partsOf);
    const said = messages.filter(({ role }) => role !== "system").map(toldOf);
    return known({
      "gen_ai.system_instructions": system.length === 0 ? null : await this.json(system),
      "gen_ai.input.messages": said.length === 0 ? null : await this.json(said),
    });
  }

  async output(message: ModelMessage, finishReason: string): Promise<Attributes> {
    return known({
      "gen_ai.output.messages": await this.json([{ ...toldOf(message), finish_reason: finishReason }]),
    });
  }
}

function cut(text: string): string {
  return text.length <= contentCharsMax ? text : `${text.slice(0, contentCharsMax - 1)}…`;
}

function toldOf(message: ModelMessage): JsonObject {
  return { role: message.role, parts: partsOf(message) };
}

function partsOf({ content }: ModelMessage): JsonObject[] {
  if (typeof content === "string") return [{ type: "text", content }];
  // Thoughts are not written down.
  return content.flatMap((part): JsonObject[] => (part.type === "reasoning" ? [] : [partOf(part)]));
}

type Part = Exclude<Exclude<ModelMessage["content"], string>[number], ReasoningContent>;

function partOf(part: Part): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", content: part.text };
    case "tool-call":
      return { type: "tool_call", id: part.toolCallId, name: part.toolName, arguments: part.input };
    case "tool-result":
      return { type: "tool_call_response", id: part.toolCallId, response: responseOf(part.output) };
    case "file":
      return { type: "blob", mime_type: part.mediaType };
  }
}

function responseOf(output: ToolOutput): JsonValue {
  return output.type === "execution-denied" ? (output.reason ?? null) : output.value;
}
