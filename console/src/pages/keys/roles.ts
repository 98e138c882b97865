/** What people are usually given, as scopes. */

import { text } from "../../text.ts";

const watching = [
  "tasks:read",
  "events:read",
  "sessions:read",
  "messages:read",
  "artifacts:read",
  "receipts:read",
  "personas:read",
];
const working = [...watching, "tasks:write", "sessions:write", "messages:write"];

export const roles = {
  watch: watching,
  work: working,
  approve: [...watching, "approvals:write"],
  operate: ["admin"],
} as const satisfies Partial<Record<Role, readonly string[]>>;

export type Role = keyof typeof text.keys.roles;

export const roleNames = Object.keys(text.keys.roles) as Role[];

/** `given` is what somebody typed: an approver's id, or scopes. */
export function scopesOf(role: Role, given: string): string[] {
  const words = wordsIn(given);
  if (role === "custom") return words;
  return role === "sign" ? [...watching, `harp:approver:${words[0] ?? ""}`] : [...roles[role]];
}

/** Separated by spaces or commas. */
export function wordsIn(given: string): string[] {
  return given.split(/[\s,]+/).filter((word) => word !== "");
}
