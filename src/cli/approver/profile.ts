/** What an approver keeps on this machine: its keys, and where its gateway is. Only its owner can read the file. */

import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type ApproverKeys,
  type ApproverSecrets,
  decryptSecrets,
  type EncryptedSecrets,
  encryptSecrets,
  importApproverKeys,
} from "../../harp/core/keys.ts";
import { closed, id, list, object, only, type Reader, text, time } from "../../harp/core/read.ts";
import { readEncryptedSecrets, readSecrets } from "../../harp/core/secrets.ts";
import { writePrivateFile } from "../../policy/private-file.ts";

export interface Paired {
  enforcerId: string;
  label?: string;
  workspace?: string;
  at: string;
}

export interface Profile {
  v: 1;
  /** Where it is paired, and as whom; keys can be made before. */
  gateway?: string;
  approverId?: string;
  /** The API key, unless it is to be given each time. */
  key?: string;
  secrets: ApproverSecrets | EncryptedSecrets;
  pairings: Paired[];
}

/** The last ones; a profile is not a log. */
const pairingsMax = 100;
const profileBytesMax = 1024 * 1024;

const readPaired: Reader<Paired> = closed({ enforcerId: id, at: time }, { label: text, workspace: text });
const readFields = closed(
  { v: only(1), secrets: object, pairings: list(readPaired, 0, pairingsMax) },
  { gateway: text, approverId: id, key: text },
);

/** Null where there is none yet. */
export function loadProfile(file: string): Profile | null {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
    throw new Error(`others on this machine can read ${file}, which has private keys in it: chmod 600 it.`);
  }
  if (found.size > profileBytesMax) throw new Error(`${file} is too large for a profile.`);
  try {
    const fields = readFields(JSON.parse(readFileSync(file, "utf8")), "profile");
    return { ...fields, secrets: readEither(fields.secrets) };
  } catch (error) {
    throw new Error(
      `${file} is not a profile of an approver: ${error instanceof Error ? error.message : ""}`,
    );
  }
}

export function saveProfile(file: string, profile: Profile): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writePrivateFile(file, `${JSON.stringify(profile, null, 2)}\n`);
}

export function withPairing(profile: Profile, paired: Paired): Profile {
  const others = profile.pairings.filter(({ enforcerId }) => enforcerId !== paired.enforcerId);
  return { ...profile, pairings: [...others, paired].slice(-pairingsMax) };
}

export function isLocked({ secrets }: Pick<Profile, "secrets">): boolean {
  return isEncrypted(secrets);
}

/** `passphrase` is asked for only where it is needed. */
export async function unlock(
  { secrets }: Pick<Profile, "secrets">,
  passphrase: () => Promise<string>,
): Promise<ApproverKeys> {
  const plain = isEncrypted(secrets) ? await decryptSecrets(secrets, await passphrase()) : secrets;
  return await importApproverKeys(plain);
}

/** As they are without a passphrase. What is locked stays locked. */
export async function lockWith(
  secrets: Profile["secrets"],
  passphrase: string | null,
): Promise<Profile["secrets"]> {
  return passphrase === null || isEncrypted(secrets) ? secrets : await encryptSecrets(secrets, passphrase);
}

function isEncrypted(secrets: Profile["secrets"]): secrets is EncryptedSecrets {
  return "kdf" in secrets;
}

function readEither(secrets: Record<string, unknown>): Profile["secrets"] {
  return "kdf" in secrets ? readEncryptedSecrets(secrets) : readSecrets(secrets);
}
