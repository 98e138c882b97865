/** Key files: readable by their owner only, written whole or not at all, because half a key after a crash is no key. */

import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** A key file that cannot be used. The message is one line: which file, what is wrong with it, and what to do. */
export class KeyFileDamaged extends Error {
  override name = "KeyFileDamaged";

  constructor(file: string, what: string, advice: string) {
    super(`${file} ${what}. ${advice}`);
  }
}

/** The content of a key file, or null if there is none. Takes away the access of everybody but its owner. */
export function readPrivateFile(file: string): string | null {
  if (!existsSync(file)) return null;
  chmodSync(file, 0o600);
  return readFileSync(file, "utf8");
}

export function writePrivateFile(file: string, text: string): void {
  const beside = `${file}.new`;
  const descriptor = openSync(beside, "w", 0o600);
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, file);
  syncDirectory(dirname(file));
}

/** A renamed file has its new name for good once its directory is on disk. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
