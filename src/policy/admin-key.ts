/** The administrator's key: the one the operator set, or one made on first start and kept where only they can read it. */

import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";

export interface AdminKey {
  key: string;
  origin: "setting" | "created" | "file";
  file: string;
}

export function loadAdminKey(file: string, fixed: string | null): AdminKey {
  if (fixed !== null) return { key: fixed, origin: "setting", file };
  if (existsSync(file)) {
    chmodSync(file, 0o600);
    return { key: readFileSync(file, "utf8").trim(), origin: "file", file };
  }
  const key = `bridle_admin_${randomBytes(32).toString("base64url")}`;
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  return { key, origin: "created", file };
}
