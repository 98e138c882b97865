/** Where tools are made: what is wrong with one is said when it is defined, not when it is called first. */

import type { TSchema } from "typebox";
import { attemptMsMax, problemWithRetries } from "./retry.ts";
import { isStandardSchema, jsonSchemaOf, type Schema } from "./schema.ts";
import {
  type ContextTool,
  type ToolDefinition,
  type ToolTerms,
  toolEffects,
  toolPattern,
  toolRisks,
} from "./tool.ts";

export function defineTool<Input extends Schema = TSchema, Output extends Schema = TSchema>(
  tool: ToolDefinition<Input, Output>,
): ToolDefinition<Input, Output> {
  assertTerms(tool);
  if (typeof tool.run !== "function") throw new TypeError(`Tool ${tool.name} needs a function run.`);
  return tool;
}

/** The same for a tool that is written against what agents are given; its first parameter says how much of that it needs. */
export function defineContextTool<Context, Input extends Schema = TSchema, Output extends Schema = TSchema>(
  tool: ContextTool<Context, Input, Output>,
): ContextTool<Context, Input, Output> {
  assertTerms(tool);
  const { retries, backoff, retryIf, circuitBreaker } = tool;
  if ([retries, backoff, retryIf, circuitBreaker].some((option) => option !== undefined))
    throw new TypeError(`Tool ${tool.name} takes no retries: each call that it makes is retried for itself.`);
  if (typeof tool.runWith !== "function") {
    throw new TypeError(`Tool ${tool.name} needs a function runWith.`);
  }
  return tool;
}

/** The types say the same, but not to those who write JavaScript. */
function assertTerms({ name, ...terms }: ToolTerms): void {
  if (typeof name !== "string" || !toolPattern.test(name)) {
    throw new TypeError(
      `A tool's name is a letter, then up to 99 letters, digits, dots, dashes and underscores; found ${JSON.stringify(name)}.`,
    );
  }
  const problem = problemWith(terms);
  if (problem !== null) throw new TypeError(`Tool ${name} ${problem}.`);
}

function problemWith({
  description,
  input,
  output,
  effect,
  risk,
  circuitBreaker,
  ...retry
}: Omit<ToolTerms, "name">): string | null {
  if (typeof description !== "string" || description.trim() === "") {
    return "needs a description: it is what a model chooses by";
  }
  if (!toolEffects.includes(effect)) return `needs an effect, one of ${toolEffects.join(", ")}`;
  if (risk !== undefined && !toolRisks.includes(risk))
    return `has a risk that is none of ${toolRisks.join(", ")}`;
  if (input !== undefined && !isObjectSchema(input)) {
    return "needs an input that is the schema of an object, such as Type.Object({ … }) or z.object({ … })";
  }
  if (output !== undefined && !isSchema(output)) return "has an output that is no schema";
  if (effect === "irreversible" && (retry.retries ?? 0) > 0)
    return "cannot have retries: what is irreversible is never repeated";
  const problem = problemWithRetries(retry) ?? problemWithCircuit(circuitBreaker);
  if (problem !== null) return `has wrong options: ${problem}`;
  return null;
}

function problemWithCircuit(terms: ToolTerms["circuitBreaker"]): string | null {
  const { failures = 1, openMs = 1 } = terms === false ? {} : (terms ?? {});
  if (!(Number.isInteger(failures) && failures >= 1))
    return "circuitBreaker.failures must be a whole number from 1";
  if (!(Number.isInteger(openMs) && openMs >= 1 && openMs <= attemptMsMax))
    return `circuitBreaker.openMs must be a whole number from 1 to ${attemptMsMax}`;
  return null;
}

function isObjectSchema(schema: Schema): boolean {
  return isSchema(schema) && jsonSchemaOf(schema).type === "object";
}

/** A schema of ArkType is a function. */
function isSchema(schema: Schema): boolean {
  if (typeof schema === "function") return isStandardSchema(schema);
  return typeof schema === "object" && schema !== null;
}
