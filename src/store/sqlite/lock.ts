/**
 * One server per data directory. The lock is an open transaction on a small database of its own: the operating
 * system releases it when the process dies, however it dies, so there is no stale lock to clean up.
 */

import { chmodSync, closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export class DataDirectoryInUse extends Error {
  override name = "DataDirectoryInUse";
}

export function lockDirectory(directory: string): { release(): void } {
  const owner = join(directory, "server.pid");
  const file = join(directory, "lock.db");
  // For the owner only: whoever could open it could hold it.
  closeSync(openSync(file, "a", 0o600));
  chmodSync(file, 0o600);
  const db = new DatabaseSync(file);
  try {
    db.exec("PRAGMA busy_timeout = 0");
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (!saysLocked(error)) {
      throw new Error(`${file} cannot be locked (${String(error)}). It holds no data: delete it.`, {
        cause: error,
      });
    }
    throw new DataDirectoryInUse(
      `Another Bridle server${pidOf(owner)} is using the data directory ${directory}. Stop it, or choose another directory with --data.`,
    );
  }
  writeFileSync(owner, String(process.pid), { mode: 0o600 });
  return {
    release() {
      // Later the number is another process's. A server that has taken over has its own there.
      if (existsSync(owner) && readFileSync(owner, "utf8") === String(process.pid)) rmSync(owner);
      db.exec("ROLLBACK");
      db.close();
    },
  };
}

/** Whether a server is using the directory. It is only looked at: nothing is written. */
export function isLocked(directory: string): boolean {
  const file = join(directory, "lock.db");
  if (!existsSync(file)) return false;
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    db.prepare("SELECT count(*) FROM sqlite_schema").get();
    return false;
  } catch (error) {
    if (saysLocked(error)) return true;
    throw error;
  } finally {
    db.close();
  }
}

function saysLocked(error: unknown): boolean {
  return error instanceof Error && error.message.includes("locked");
}

function pidOf(file: string): string {
  try {
    return ` (process ${readFileSync(file, "utf8")})`;
  } catch {
    return "";
  }
}
