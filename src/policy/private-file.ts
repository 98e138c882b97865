/** A file that only its owner can read, written whole or not at all: half a key after a crash would be no key. */

import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

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
