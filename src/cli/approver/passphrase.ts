/** The passphrase that keys are locked with: from a file, from the environment, or from the person at the terminal. */

import { readFileSync } from "node:fs";
import { askHidden, canAsk } from "../terminal/prompt.ts";

export interface PassphraseSettings {
  passphraseFile?: string;
}

const variable = "BRIDLE_APPROVER_PASSPHRASE";
/** Asked again this often when two entries differ. */
const triesMax = 3;

/** Null when nothing was set: then somebody has to be asked, or there is none. */
export function givenPassphrase({ passphraseFile }: PassphraseSettings): string | null {
  if (passphraseFile !== undefined) {
    // An editor ends the last line; that is no part of it.
    const passphrase = readFileSync(passphraseFile, "utf8").replace(/\r?\n$/, "");
    if (passphrase === "") throw new Error(`${passphraseFile} is empty.`);
    return passphrase;
  }
  return process.env[variable] || null;
}

export async function passphraseToOpen(settings: PassphraseSettings, file: string): Promise<string> {
  const given = givenPassphrase(settings);
  if (given !== null) return given;
  const typed = canAsk() ? await askHidden(`Passphrase of ${file}: `) : null;
  if (typed !== null) return typed;
  throw new Error(`${file} is locked: give the passphrase with --passphrase-file, or set ${variable}.`);
}

/** For keys that are new. Null when none is wanted. */
export async function newPassphrase(settings: PassphraseSettings): Promise<string | null> {
  const given = givenPassphrase(settings);
  if (given !== null || !canAsk()) return given;
  for (let tries = 0; tries < triesMax; tries++) {
    const first = await askHidden("Passphrase for your new keys (empty for none): ");
    if (first === null) throw new Error("no passphrase was given, and nothing was done.");
    if (first === "") return null;
    if ((await askHidden("The same again: ")) === first) return first;
    process.stderr.write("These were not the same.\n");
  }
  throw new Error("the two were never the same; nothing was done.");
}
