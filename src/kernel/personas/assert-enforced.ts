/** What a persona asks for is enforced or refused: a rule that is kept and not followed would be a promise. */

import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaChanges } from "../kinds/persona.ts";

export function assertEnforced(unit: Unit, { context_packs, evals, triggers }: PersonaChanges): void {
  const { contextPacks } = unit.deps;
  const pack = context_packs?.find((name) => !contextPacks.has(name));
  if (pack !== undefined) throw refused("context_packs", `Context pack not found: ${pack}`);
  const [suite] = evals ?? [];
  if (suite !== undefined) throw refused("evals", `Evaluation suite not found: ${suite}`);
  for (const [index, { connector_id }] of (triggers ?? []).entries()) {
    if (unit.findIncludingDeleted("connector", connector_id) !== undefined) continue;
    throw refused(`triggers[${index}].connector_id`, `Connector not found: ${connector_id}`);
  }
}

function refused(param: string, message: string): HarnessError {
  return new HarnessError("policy_violation", message, { param, details: { rule: "not_enforced" } });
}
