/** What a recorded step gave: its result, or its error, thrown again. */

import { unseal } from "../kernel/content.ts";
import type { KernelEvent } from "../kernel/events.ts";
import type { JsonValue } from "../store/port.ts";
import { AgentFailure } from "./failures.ts";
import type { Run } from "./run.ts";

export async function outputOf(run: Run, { ended }: { ended: KernelEvent | null }): Promise<JsonValue> {
  if (ended?.event !== "span.completed" && ended?.event !== "span.failed") return null;
  const { result } = ended.payload;
  if ("error" in result) throw new AgentFailure(result.error.code, result.error.message);
  return await unseal(result.output, run.kernel.store);
}
