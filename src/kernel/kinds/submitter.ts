/** Who asked for work: with `four_eyes`, none of them approves it. */

import { type Caller, harpIdentities } from "../../policy/caller.ts";

export interface Submitter {
  actor: string;
  key_id?: string;
  /** Approvers whom the credential may act as. */
  approver_ids?: string[];
  /** Whoever made the connector, where somebody else changed it since: they hold its secret. */
  maker?: Submitter;
}

export function callerAsSubmitter(caller: Caller): Submitter {
  const { actor, keyId } = caller;
  const approvers = harpIdentities(caller).filter(({ role }) => role === "approver");
  return {
    actor,
    ...(keyId === undefined ? {} : { key_id: keyId }),
    ...(approvers.length === 0 ? {} : { approver_ids: approvers.map(({ id }) => id) }),
  };
}

/** After a change by another caller. What earlier versions made has no maker. */
export function changedBy(caller: Caller, before: Submitter | undefined): Submitter {
  const maker = before?.maker ?? before;
  return { ...callerAsSubmitter(caller), ...(maker === undefined ? {} : { maker }) };
}

/** Every name that they have, as actors and as approvers. */
export function namesOf({ actor, approver_ids = [], maker }: Submitter): string[] {
  return [actor, ...approver_ids, ...(maker === undefined ? [] : namesOf(maker))];
}

export function isSubmitter(caller: Caller, submitter: Submitter): boolean {
  const { maker, key_id } = submitter;
  if (caller.keyId !== undefined && caller.keyId === key_id) return true;
  if (maker !== undefined && isSubmitter(caller, maker)) return true;
  const names = namesOf(submitter);
  return namesOf(callerAsSubmitter(caller)).some((name) => names.includes(name));
}
