/** `ctx.context`: texts of the project that the persona names. What a run was given is recorded, so it stays the same. */

import type { StepSpan } from "../../kernel/core/events.ts";
import { AgentFailure } from "../run/failures.ts";
import { attemptStep, performStep } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";

export async function contextPack(run: Run, name: string): Promise<string> {
  const span: StepSpan = { step: run.key(`context:${name}`), kind: "file_read", name: `context/${name}` };
  return String(await performStep(run, span, () => attemptStep(() => readPack(run, name))));
}

function readPack({ task, kernel }: Run, name: string): string {
  if (!(task.policy.context_packs ?? []).includes(name)) {
    throw new AgentFailure(
      "context_unavailable",
      `Persona ${task.persona_id} does not name the context pack ${JSON.stringify(name)}.`,
    );
  }
  const text = kernel.contextPacks.get(name);
  if (text === undefined)
    throw new AgentFailure("context_unavailable", `Context pack not found: ${name}. Add context/${name}.md.`);
  return text;
}
