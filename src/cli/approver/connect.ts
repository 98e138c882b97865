/** From the settings of a command to an approver that can act: the profile, its keys, its gateway. */

import { Approver } from "../../sdk/approver/approver.ts";
import { chooseKey, type KeyChoice } from "./choose-key.ts";
import { passphraseToOpen } from "./passphrase.ts";
import { loadProfile, type Profile, unlock } from "./profile.ts";

export interface ApproverSettings {
  profile: string;
  key?: string;
  passphraseFile?: string;
  json?: true;
}

export interface Connected {
  approver: Approver;
  /** Its address. */
  gateway: string;
}

export function requireProfile(file: string): Profile {
  const profile = loadProfile(file);
  if (profile !== null) return profile;
  throw new Error(
    `there is no approver here yet (${file}). Pair with \`bridle approver pair CODE --gateway URL\`.`,
  );
}

export async function connect(settings: ApproverSettings): Promise<Connected> {
  const profile = requireProfile(settings.profile);
  const { gateway, approverId } = profile;
  if (gateway === undefined || approverId === undefined) {
    throw new Error(`nobody is paired yet: \`bridle approver pair CODE --gateway URL\`.`);
  }
  // Before anybody has to type a passphrase.
  const key = chooseKey(keyChoice(settings, gateway, profile));
  const keys = await unlock(profile, () => passphraseToOpen(settings, settings.profile));
  return { approver: new Approver({ url: gateway, key, approverId, keys }), gateway };
}

export function keyChoice({ key }: ApproverSettings, gateway: string, profile: Profile | null): KeyChoice {
  return { gateway, given: key ?? null, saved: savedIn(profile) };
}

function savedIn(profile: Profile | null): KeyChoice["saved"] {
  const { key, gateway } = profile ?? {};
  return key === undefined || gateway === undefined ? null : { key, gateway };
}
