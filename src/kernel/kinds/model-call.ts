/** A model call as the log tells it: what the model was given, which one answered and why that one, what it used. */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { Content } from "../core/content.ts";

/**
 * The messages of a model's input, said once: a message of its own, or a range of those that an earlier step of the same task
 * had already, counted from 0. A model call has its input and, after it, what the model said; a reading of the conversation has what it
 * read. So a conversation costs its length, however often it is sent.
 */
export type InputPiece = { content: Content<JsonValue> } | { of_step: string; first: number; count: number };

export interface ModelCallBegun {
  input: InputPiece[];
  /** Over everything that the model is given. */
  sha256: string;
  /** Over what is said to it: a run that is repeated must say the same. Tools and settings may change between two runs. */
  messages_sha256: string;
  /** `provider/model`, in the order in which they are tried. */
  candidates: string[];
  /** The names of the tools that were offered. */
  tools: string[];
  /** Temperature and the like. */
  settings: JsonObject;
}

/** A model that was not the one to answer, and why. */
export interface ModelConsidered {
  /** `provider/model` */
  model: string;
  reason: string;
}

export interface ModelCallEnded {
  /** Null when none of them answered. */
  chosen: { provider: string; model: string; served_by: string | null } | null;
  reason: string;
  considered: ModelConsidered[];
  /** How often models were asked until one answered, or none was left to ask. */
  attempts: number;
  /** Of all attempts together, as far as it is known. */
  usage: { input_tokens: number; output_tokens: number; cached_input_tokens?: number; is_estimated?: true };
  /** Null when nobody said what the model costs. */
  usd: number | null;
  /** The budget ended the answer before the model did. */
  is_cut?: true;
}
