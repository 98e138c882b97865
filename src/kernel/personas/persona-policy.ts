/** What the persona of a task lets it do. A refusal is a sentence for the people who wrote the agent and the persona. */

import { HarnessError } from "../core/errors.ts";
import type { Permissions } from "../kinds/persona.ts";
import type { TaskRecord } from "../kinds/task.ts";

type Named = Pick<TaskRecord, "persona_id"> & { policy: Permissions };

export function requireTool(task: Named, tool: string): void {
  if (!isNamed(task.policy.tools, tool)) throw violation(task, "tools", `use the tool ${quote(tool)}`, tool);
}

/** For what a persona has only when its list names it: neither the absence of a list nor a star for everything does. */
export function requireNamedTool(task: Named, tool: string): void {
  const named = task.policy.tools?.filter((entry) => entry !== "*") ?? [];
  if (!isNamed(named, tool))
    throw violation(task, "tools", `use the tool ${quote(tool)} without naming it`, tool);
}

/** One of these names for it is enough; the last is the narrowest, and the one that a refusal tells. */
export function requireCapability(task: Named, ...names: [string, ...string[]]): void {
  if (names.some((name) => isNamed(task.policy.capabilities, name))) return;
  const capability = names.at(-1) ?? names[0];
  throw violation(task, "capabilities", `use the capability ${quote(capability)}`, capability);
}

/** For what a persona may do only when it says so: a list that is absent does not. */
export function namesCapability({ policy }: Named, name: string): boolean {
  return policy.capabilities !== undefined && isNamed(policy.capabilities, name);
}

/** Work may always be split up within a persona. */
export function requireHandoff(task: Named, personaId: string): void {
  if (personaId === task.persona_id || isNamed(task.policy.handoffs, personaId)) return;
  throw violation(task, "handoffs", `hand work to ${personaId}`, personaId);
}

/** A remote agent is named by its URL, by its origin, or by a beginning of its URL with a star after it. */
export function requireRemoteHandoff(task: Named, url: string): void {
  const { handoffs } = task.policy;
  if (handoffs === undefined || handoffs.some((entry) => meansUrl(entry, new URL(url)))) return;
  throw violation(task, "handoffs", `hand work to ${quote(url)}`, url);
}

/** A beginning names the whole origin: `https://good.example*` is not `https://good.example.evil.example`. */
function meansUrl(entry: string, url: URL): boolean {
  if (entry === "*") return true;
  const isPrefix = entry.endsWith("*");
  const named = URL.parse(isPrefix ? entry.slice(0, -1) : entry);
  if (named === null || named.origin !== url.origin || named.origin === "null") return false;
  if (isPrefix) return url.href.startsWith(named.href);
  return url.href === named.href || entry === named.origin;
}

export interface ModelCall {
  /** `provider/model` */
  model?: string | undefined;
  maxTokens?: number | undefined;
}

export function requireModel(task: Named, { model, maxTokens }: ModelCall): void {
  const { allowed_models: allowed, max_tokens: most } = task.policy.model_policy ?? {};
  if (allowed !== undefined && (model === undefined || !isNamed(allowed, model))) {
    const named =
      model === undefined ? "call a model that it does not name" : `call the model ${quote(model)}`;
    throw violation(task, "model_policy.allowed_models", named, model ?? null);
  }
  if (most !== undefined && (maxTokens === undefined || maxTokens > most)) {
    const wanted = maxTokens === undefined ? "without saying how many" : `for ${maxTokens}`;
    throw violation(
      task,
      "model_policy.max_tokens",
      `ask a model for tokens ${wanted}; at most ${most}`,
      null,
    );
  }
}

function isNamed(list: readonly string[] | undefined, name: string): boolean {
  if (list === undefined) return true;
  return list.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : entry === name));
}

function violation({ persona_id }: Named, rule: string, what: string, refused: string | null): HarnessError {
  return new HarnessError(
    "policy_violation",
    `Persona ${persona_id} may not ${what} (its ${rule} do not allow it).`,
    {
      details: { persona_id, rule, refused },
    },
  );
}

function quote(name: string): string {
  return JSON.stringify(name);
}
