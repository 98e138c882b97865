/**
 * One call of a tool's function, which ends in time: with what the function gave, with its error, or without waiting for it
 * any longer. A function that ignores its signal keeps running; its late result is reported once.
 */

import { inTime, type LateResult } from "./in-time.ts";
import { type Checked, checkValue, listProblems, type Schema, type ValueOf } from "./schema.ts";
import type { ToolContext, ToolDefinition, ToolTerms } from "./tool.ts";

export const toolMsDefault = 60_000;
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
export async function runTool<Input extends Schema, Output extends Schema>(
  tool: ToolDefinition<Input, Output>,
  input: unknown,
  context: ToolContext,
  { timeoutMs = tool.timeoutMs ?? toolMsDefault, onLate }: AttemptOptions = {},
): Promise<ValueOf<Output>> {
  context.signal.throwIfAborted();
  const given = checkToolInput(tool, input);
  const checked = given instanceof Promise ? await given : given;
  context.signal.throwIfAborted();
  return await inTime((signal) => call(tool, checked, { ...context, signal }), {
    timeoutMs,
    timeout: () => new ToolTimeout(tool.name, timeoutMs),
    signal: context.signal,
    onLate,
  });
}

async function call<Input extends Schema, Output extends Schema>(
  tool: ToolDefinition<Input, Output>,
  input: ValueOf<Input>,
  context: ToolContext,
): Promise<ValueOf<Output>> {
  const output = await tool.run(input, context);
  return await check<Output>(tool.name, "output", tool.output, output);
}

/** The input as what the tool's schema says it is. Throws `ToolValueInvalid`. */
export function checkToolInput<Input extends Schema>(
  tool: Pick<ToolTerms<Input>, "name" | "input">,
  input: unknown,
): ValueOf<Input> | Promise<ValueOf<Input>> {
  return check<Input>(tool.name, "input", tool.input, input);
}

/** Without a schema everything fits. */
function check<S extends Schema>(
  tool: string,
  which: "input" | "output",
  schema: S | undefined,
  value: unknown,
): ValueOf<S> | Promise<ValueOf<S>> {
  const take = (checked: Checked) => {
    if ("problems" in checked) throw new ToolValueInvalid(tool, which, listProblems(checked.problems));
    // It was checked, or there is nothing that it must be.
    return checked.value as ValueOf<S>;
  };
  const checked = schema === undefined ? { value } : checkValue(schema, value);
  return checked instanceof Promise ? checked.then(take) : take(checked);
}
