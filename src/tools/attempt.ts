/**
 * One call of a tool's function, which ends in time: with what the function gave, with its error, or without waiting for it
 * any longer. A function that cannot be stopped goes on in the background, and what comes of it then is told, once.
 */

import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/schema";
import { inTime, type LateResult } from "./in-time.ts";
import type { ToolContext, ToolDefinition, ToolTerms } from "./tool.ts";

export const toolMsDefault = 60_000;
/** As many problems as a message lists. */
const problemsMax = 3;

/** The function did not end in time. Whether it did its work all the same is not known, unless it is told late. */
export class ToolTimeout extends Error {
  override name = "ToolTimeout";
  readonly code = "tool_timeout";

  constructor(tool: string, timeoutMs: number) {
    super(`Tool ${tool} did not end within ${timeoutMs} ms.`);
  }
}

/** What was given to a tool, or what it gave, is not what its schema says. The message holds no values. */
export class ToolValueInvalid extends Error {
  override name = "ToolValueInvalid";
  readonly code: "tool_input_invalid" | "tool_output_invalid";

  constructor(tool: string, which: "input" | "output", problems: string) {
    super(`The ${which} of tool ${tool} does not fit its schema: ${problems}.`);
    this.code = `tool_${which}_invalid`;
  }
}

export interface AttemptOptions {
  /** In place of the tool's own. */
  timeoutMs?: number;
  /** Must not throw: nobody is left to hear of it. */
  onLate?: (late: LateResult) => void;
}

/**
 * Rejects with `ToolValueInvalid`, with `ToolTimeout`, with the reason of the context's signal, or with what the function threw.
 * The function's own signal is aborted with the time and with the context's.
 */
export async function runTool<Input extends TSchema, Output extends TSchema>(
  tool: ToolDefinition<Input, Output>,
  input: unknown,
  context: ToolContext,
  { timeoutMs = tool.timeoutMs ?? toolMsDefault, onLate }: AttemptOptions = {},
): Promise<Static<Output>> {
  context.signal.throwIfAborted();
  const checked = checkToolInput(tool, input);
  return await inTime((signal) => call(tool, checked, { ...context, signal }), {
    timeoutMs,
    timeout: () => new ToolTimeout(tool.name, timeoutMs),
    signal: context.signal,
    onLate,
  });
}

async function call<Input extends TSchema, Output extends TSchema>(
  tool: ToolDefinition<Input, Output>,
  input: Static<Input>,
  context: ToolContext,
): Promise<Static<Output>> {
  const output = await tool.run(input, context);
  return check<Output>(tool.name, "output", tool.output, output);
}

/** The input as what the tool's schema says it is. Throws `ToolValueInvalid`. */
export function checkToolInput<Input extends TSchema>(
  tool: Pick<ToolTerms<Input>, "name" | "input">,
  input: unknown,
): Static<Input> {
  return check<Input>(tool.name, "input", tool.input, input);
}

const validators = new WeakMap<object, Validator>();

/** Without a schema everything fits. */
function check<S extends TSchema>(
  tool: string,
  which: "input" | "output",
  schema: S | undefined,
  value: unknown,
): Static<S> {
  if (schema !== undefined) {
    const validator = validators.get(schema) ?? Compile(schema);
    validators.set(schema, validator);
    if (!validator.Check(value))
      throw new ToolValueInvalid(tool, which, problemsOf(validator.Errors(value)[1]));
  }
  // It was checked above, or there is nothing that it must be.
  return value as Static<S>;
}

function problemsOf(problems: { instancePath: string; message: string }[]): string {
  const said = [
    ...new Set(problems.map(({ instancePath, message }) => `${nameOf(instancePath)} ${message}`)),
  ];
  const more = said.length - problemsMax;
  return said.slice(0, problemsMax).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** `/args/0` becomes `args[0]`. */
function nameOf(instancePath: string): string {
  if (instancePath === "") return "it";
  const steps = instancePath.slice(1).split("/");
  return steps
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join("")
    .replace(/^\./, "");
}
