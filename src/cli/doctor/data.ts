/** The data directory: whether it can be written, how much room there is, who can read its keys, and what the store says. */

import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { readAdminKey } from "../../policy/admin-key.ts";
import { readEnforcerKey } from "../../policy/enforcer-key.ts";
import { MasterKeys } from "../../policy/master-keys.ts";
import { KeyFileDamaged } from "../../policy/private-file.ts";
import { readSigningKey } from "../../policy/signing-key.ts";
import { type DiskFloor, spaceAt } from "../../store/sqlite/free-space.ts";
import { inspectStore } from "../../store/sqlite/inspect.ts";
import { assertNotLost } from "../../store/sqlite/open-problems.ts";
import type { ServeSettings } from "../settings/settings.ts";
import { type Answer, ok, problem, warning } from "./finding.ts";
import { type RunningServer, urlOf } from "./running-server.ts";

const mebibyte = 1024 * 1024;
const freeBytesEnough = 1024 * mebibyte;

export function writable(directory: string): Answer {
  const existing = nearestExisting(directory);
  if (!statSync(existing).isDirectory()) {
    return problem(`${existing} is not a directory`, "Choose another with --data.");
  }
  try {
    accessSync(existing, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return problem(
      `${existing} cannot be written`,
      "Let the user who runs Bridle own it, or choose another with --data.",
    );
  }
  return ok(existing === directory ? directory : `${directory}, which is made at the first start`);
}

export function diskSpace(directory: string, floor: DiskFloor): Answer {
  const { freeBytes, floorBytes } = spaceAt(nearestExisting(directory), floor);
  const [free, least] = [freeBytes, floorBytes].map((bytes) =>
    Math.floor(bytes / mebibyte).toLocaleString("en"),
  );
  const message = `${free} MiB are free; below ${least} MiB nothing is added (--disk-floor)`;
  const advice = "Make room, or let old work go with --retain-days.";
  if (freeBytes < floorBytes) return problem(message, advice);
  return freeBytes < floorBytes + freeBytesEnough ? warning(message, advice) : ok(message);
}

/** What is not there yet is made there. */
function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

export function keyFiles(directory: string): Answer {
  const files = existsSync(directory)
    ? readdirSync(directory)
        .filter((name) => name.endsWith(".key"))
        .sort()
    : [];
  if (files.length === 0) return ok("none yet: they are made when they are needed");
  const paths = files.map((name) => join(directory, name));
  const open = paths.filter((path) => (statSync(path).mode & 0o077) !== 0);
  if (open.length > 0) {
    return problem(
      `others can read ${open.join(", ")}`,
      `chmod 600 ${open.join(" ")}, and rotate what somebody may have read.`,
    );
  }
  for (const path of paths) accessSync(path, constants.R_OK);
  const damaged = damagedKeyIn(directory);
  if (damaged !== null) return problem(damaged, "No server uses it as it is.");
  return ok(`${files.join(", ")}: for their owner only`);
}

/** What is wrong with the first key file that does not contain what it should. */
function damagedKeyIn(directory: string): string | null {
  try {
    readAdminKey(join(directory, "admin.key"));
    readSigningKey(join(directory, "signing.key"));
    readEnforcerKey(join(directory, "enforcer.key"));
    return new MasterKeys({ file: join(directory, "master.key") }).problem;
  } catch (error) {
    if (error instanceof KeyFileDamaged) return error.message;
    throw error;
  }
}

/** The store of the server, and that of the gateway in it. */
export function storesAtRest(directory: string): Answer {
  // In a directory that we may not look into, everything seems to be missing.
  if (existsSync(directory)) accessSync(directory, constants.R_OK | constants.X_OK);
  for (const at of [directory, join(directory, "gateway")]) assertNotLost(at);
  const store = inspectStore(directory);
  inspectStore(join(directory, "gateway"));
  if (store === null) return ok("none yet: it is made at the first start");
  const size = `${Math.ceil(store.bytes / mebibyte).toLocaleString("en")} MiB`;
  return ok(store.isChecked ? `${size}, not damaged` : `${size}; too large to be looked through`);
}

/** What a server has open is the server's to judge. */
export function storeOfServer(
  directory: string,
  settings: ServeSettings,
  server: RunningServer | null,
): Answer {
  if (server === null) {
    return warning(
      `a server${pidIn(directory)} has it open, and does not answer at ${urlOf(settings)}`,
      "If it listens elsewhere, say where with --host and --port.",
    );
  }
  if (server.status === "ready") return ok(`open in Bridle ${server.version}, which is ready`);
  return problem(
    `open in Bridle ${server.version}, which says ${server.status}`,
    "Look at its log, and start it again.",
  );
}

function pidIn(directory: string): string {
  const file = join(directory, "server.pid");
  const [pid] = existsSync(file) ? (/^\d+$/.exec(readFileSync(file, "utf8")) ?? []) : [];
  return pid === undefined ? "" : ` (process ${pid})`;
}
