/** One directive as it came from the engine: checked, with the careful reading wherever it says something new. */

import {
  type Json,
  type JsonObject,
  member,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalText,
  requireObject,
  requireText,
} from "./json.ts";
import { type DirectiveProfile, directiveProfile } from "./profile.ts";

export const riskTiers = ["safe", "caution", "dangerous"] as const;
export type RiskTier = (typeof riskTiers)[number];

/** Longer than any name of an action; a text of that size is not one. */
const nameCharsMax = 256;

export interface Directive extends DirectiveProfile {
  readonly actionType: string;
  readonly payload: JsonObject;
  readonly execution: "sequential" | "parallel";
  readonly riskTier: RiskTier;
  readonly requiresUserApproval: boolean;
  /** Counted from the moment at which the directive arrived. */
  readonly deadlineMs: number | undefined;
  /** A hint as the engine gave it. The order of execution does not depend on it. */
  readonly priority: string | undefined;
  readonly extensions: JsonObject;
}

export function parseDirective(value: Json | undefined, path: string): Directive {
  const source = requireObject(value, path);
  const get = (name: string) => member(source, name);
  const text = (name: string) => optionalText(get(name), `${path}.${name}`, nameCharsMax);
  const extensions = optionalObject(get("extensions"), `${path}.extensions`) ?? {};
  return {
    ...directiveProfile(extensions),
    actionType: requireText(get("action_type"), `${path}.action_type`, nameCharsMax),
    payload: optionalObject(get("payload"), `${path}.payload`) ?? {},
    // A mode that a later version adds waits its turn, which is always right.
    execution: text("execution") === "parallel" ? "parallel" : "sequential",
    riskTier: tierOf(text("risk_tier")),
    requiresUserApproval:
      optionalBoolean(get("requires_user_approval"), `${path}.requires_user_approval`) ?? false,
    deadlineMs: optionalNumber(get("deadline_ms"), `${path}.deadline_ms`),
    priority: text("priority"),
    extensions,
  };
}

/** Without a tier a directive is safe; a tier that is not known is taken for the worst. */
function tierOf(text: string | undefined): RiskTier {
  if (text === undefined) return "safe";
  return riskTiers.find((tier) => tier === text) ?? "dangerous";
}

export function isAbove(tier: RiskTier, limit: RiskTier): boolean {
  return riskTiers.indexOf(tier) > riskTiers.indexOf(limit);
}

/** What a person can be shown in the place of a directive that is not carried out. */
export function fallbackText({ payload }: Directive): string | undefined {
  return ["fallback_message", "message"]
    .map((name) => member(payload, name))
    .find((value): value is string => typeof value === "string" && value.trim() !== "");
}

/** The text of a `render_message`. */
export function messageText({ payload }: Directive): string | undefined {
  const text = ["text", "message"]
    .map((name) => member(payload, name))
    .find((value): value is string => typeof value === "string" && value !== "");
  return text;
}
