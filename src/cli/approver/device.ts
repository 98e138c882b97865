/** The keys of this device: made once, opened each time. */

import { type ApproverKeys, exportSecrets, generateApproverKeys } from "../../harp/core/keys.ts";
import { givenPassphrase, newPassphrase, type PassphraseSettings, passphraseToOpen } from "./passphrase.ts";
import { isLocked, lockWith, type Profile, unlock } from "./profile.ts";

export interface Device {
  keys: ApproverKeys;
  /** As they are to be kept. */
  secrets: Profile["secrets"];
}

type Settings = PassphraseSettings & { profile: string };

export async function newDevice(settings: Settings): Promise<Device> {
  const passphrase = await newPassphrase(settings);
  const keys = await generateApproverKeys(new Date());
  return { keys, secrets: await lockWith(await exportSecrets(keys), passphrase) };
}

/** Locked from now on, if a passphrase is given for keys that had none. */
export async function knownDevice(before: Profile, settings: Settings): Promise<Device> {
  const keys = await unlock(before, () => passphraseToOpen(settings, settings.profile));
  return { keys, secrets: await lockWith(before.secrets, givenPassphrase(settings)) };
}

export function warnWithoutPassphrase(profile: Pick<Profile, "secrets">): void {
  if (isLocked(profile)) return;
  process.stderr.write(
    "Warning: without a passphrase, whoever gets hold of your keys' file can sign as you.\n",
  );
}
