/** Whom an artifact goes to: the approver that it names, those that its tokens lead to, or everybody in the tenant. */

import type { ArtifactSubmit, Metadata } from "../core/wire.ts";
import type { GatewayDeps } from "./deps.ts";
import type { KnownApprovers } from "./known-approvers.ts";
import type { Mailbox } from "./principal.ts";
import { refusal } from "./refusals.ts";
import { approverBehind, requireWanted } from "./routing-tokens.ts";

/** As many as one artifact can be sealed for. */
const tokensMax = 64;

/** Never empty. What was named and is not there is refused; nobody else is asked instead. */
export async function chooseApprovers(
  deps: GatewayDeps,
  known: KnownApprovers,
  enforcer: Mailbox,
  { recipient, body: { metadata = {} } }: ArtifactSubmit,
): Promise<string[]> {
  const chosen = await select(deps, known, enforcer, recipient?.approverId, metadata);
  if (chosen.length > 0) return [...new Set(chosen)];
  throw refusal("NoApproverAvailable", "There is nobody here whom this artifact can be sent to.");
}

async function select(
  deps: GatewayDeps,
  known: KnownApprovers,
  enforcer: Mailbox,
  named: string | undefined,
  { routingToken, approverId }: Metadata,
): Promise<string[]> {
  if (named !== undefined) return await onlyKnown(deps, known, enforcer, named);
  if (routingToken !== undefined) {
    const tokens = textsIn(routingToken, "metadata.routingToken", tokensMax);
    const approvers = await Promise.all(tokens.map((token) => approverBehind(deps, enforcer, token)));
    // One that leads nowhere must not go unnoticed: somebody was to be asked who now would not be.
    return approvers.includes(null) ? [] : approvers.filter((id) => id !== null);
  }
  if (approverId !== undefined) {
    const [id = ""] = textsIn(approverId, "metadata.approverId", 1);
    return await onlyKnown(deps, known, enforcer, id);
  }
  return await known.all(enforcer.tenantId);
}

async function onlyKnown(
  deps: GatewayDeps,
  known: KnownApprovers,
  enforcer: Mailbox,
  id: string,
): Promise<string[]> {
  if (!(await known.isKnown(enforcer.tenantId, id))) return [];
  await requireWanted(deps, enforcer, id);
  return [id];
}

function textsIn(value: unknown, name: string, max: number): string[] {
  const texts = Array.isArray(value) ? value : [value];
  if (texts.length > max || !texts.every((text) => typeof text === "string")) {
    const form = max === 1 ? "a string" : `a string or a list of at most ${max} strings`;
    throw refusal("ValidationError", `${name} must be ${form}.`, { param: `body.${name}` });
  }
  return texts;
}
