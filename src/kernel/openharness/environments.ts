/** What a shell says of its surroundings, on its way into the log: by its privacy tier, kept, kept internal, or only described. */

import type { JsonObject } from "../../store/port.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { PrivacyTier, RecordedEnvironment } from "../kinds/shell-link.ts";
import { currentMasterKey } from "../vaults/vaults.ts";
import { protectedMax, protectedValues } from "./protected-values.ts";

export interface GivenEnvironment {
  tier: PrivacyTier;
  state: JsonObject;
}

/** A state describes surroundings; what is larger is a document, and belongs into an attachment. */
const stateBytesMax = 64 * 1024;

/** From here on nothing in this unit says what is secret, also where the shell has put it elsewhere in its request. */
export function protectGiven(unit: Unit, given: GivenEnvironment | null, record: object): void {
  if (given === null) return;
  const bytes = Buffer.byteLength(JSON.stringify(given.state));
  if (bytes > stateBytesMax) throw tooLarge(`has ${bytes} bytes; at most ${stateBytesMax} are taken`);
  if (given.tier !== "secret") return;
  const values = protectedValues(given.state, JSON.stringify(record), unit.deps.clock.now());
  if (values.length > protectedMax) throw tooLarge(`has more than ${protectedMax} secret values`);
  unit.redactor = unit.redactor.with(values);
}

/** As it is written down. What is not is held in memory for the run. */
export function recordEnvironment(
  unit: Unit,
  taskId: string,
  { tier, state }: GivenEnvironment,
): RecordedEnvironment {
  if (tier !== "secret") return { tier, state: unit.seal(state) };
  const { deps } = unit;
  const canonical = hashWellFormed(state, canonicalJson);
  currentMasterKey(deps);
  const keyed_hash = deps.masterKeys.fingerprint(`openharness environment ${canonical}`);
  const bytes = Buffer.byteLength(canonical);
  unit.beforeCommit(() => deps.heldStates.keep(taskId, keyed_hash, state, bytes));
  return { tier, keyed_hash, bytes };
}

function tooLarge(problem: string): HarnessError {
  return new HarnessError("invalid_request", `environment_state ${problem}.`, {
    param: "request.context.environment_state",
  });
}
