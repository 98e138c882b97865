/** What engine and shell can do together (§5.3): what is offered, what was asked for and cannot be had, and why. */

import { HarnessError } from "../../kernel/core/errors.ts";
import { outcomesCapability } from "../../kernel/openharness/accept-turn.ts";
import { type Caller, mayUse, type Scope } from "../../policy/caller.ts";
import type { RequestMessage, ResponseMessage } from "./wire.ts";

export const capability = {
  streaming: "openharness.streaming",
  parallel: "openharness.actions.parallel",
  attachments: "openharness.attachments.upload",
  richCards: "openharness.ui.rich_cards",
  approval: "openharness.ui.approval",
  outcomes: outcomesCapability,
} as const;

/** Without these scopes, what the capability is for would be refused. */
const neededScopes: Readonly<Record<string, Scope>> = { [capability.approval]: "approvals:write" };

const offered: ReadonlySet<string> = new Set(Object.values(capability));
export const supportedCapabilities: Readonly<Record<string, boolean>> = Object.fromEntries(
  [...offered].map((name) => [name, true]),
);

/** A shell that asks for more has not understood what a capability is. */
const askedMax = 100;
const nameCharsMax = 200;

type Denial = ResponseMessage["capability_denials"][number];

export interface Negotiated {
  granted: ReadonlySet<string>;
  denials: Denial[];
}

/** What a message asks for; null when it says nothing of capabilities at all. */
export function askedFor({ capabilities }: RequestMessage): string[] | null {
  if (capabilities === undefined) return null;
  const asked = Object.entries(capabilities).flatMap(([name, value]) =>
    value === false || value === null || name === "" ? [] : [name],
  );
  if (asked.length <= askedMax && asked.every((name) => name.length <= nameCharsMax)) return asked;
  throw new HarnessError(
    "invalid_request",
    `At most ${askedMax} capabilities can be asked for, of ${nameCharsMax} characters each.`,
    { param: "capabilities" },
  );
}

export function negotiate(asked: readonly string[], caller: Caller): Negotiated {
  const denials = asked.flatMap((name) => denialOf(name, caller) ?? []);
  const denied = new Set(denials.map(({ capability: name }) => name));
  return { granted: new Set(asked.filter((name) => !denied.has(name))), denials };
}

function denialOf(name: string, caller: Caller): Denial | null {
  if (!offered.has(name)) {
    return { capability: name, code: "not_supported", message: "This engine does not offer it." };
  }
  const scope = neededScopes[name];
  if (scope === undefined || mayUse(caller, scope)) return null;
  return { capability: name, code: "disabled_by_policy", message: `It needs the scope ${scope}.` };
}
