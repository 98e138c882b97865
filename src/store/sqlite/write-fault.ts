/** What an error of SQLite says about the disk. Errors that only concern one batch say nothing about it. */

import { accessSync, constants, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { diskFaultOf } from "../port.ts";

/** Primary result codes, https://sqlite.org/rescode.html. */
const faultsByResult: Readonly<Record<number, string>> = {
  5: "database locked by another process",
  6: "database locked by another process",
  8: "database is read-only",
  10: "I/O error",
  11: "database damaged",
  13: "disk full",
  14: "cannot open the database file",
  26: "database damaged",
};
/** Results that several states of the disk lead to: SQLite does not pass on the error of the operating system. */
const ambiguous = new Set([8, 10, 14]);

export function writeFaultOf(error: unknown, file: string): string | null {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number")) {
    return diskFaultOf(error);
  }
  const result = error.errcode & 0xff;
  const fault = faultsByResult[result] ?? null;
  return ambiguous.has(result) ? (faultOfDisk(dirname(file)) ?? fault) : fault;
}

function faultOfDisk(directory: string): string | null {
  try {
    accessSync(directory, constants.W_OK);
    return statfsSync(directory).bavail === 0 ? "disk full" : null;
  } catch (error) {
    return diskFaultOf(error);
  }
}
