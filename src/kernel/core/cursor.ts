/** Opaque page cursors: which list, and the last record that was given. */

import type { Position } from "../../store/port.ts";
import { HarnessError } from "./errors.ts";

export interface PagePoint {
  born: Position;
  id: string;
}

export function encodeCursor(list: string, { born, id }: PagePoint): string {
  return Buffer.from(JSON.stringify([list, born, id])).toString("base64url");
}

export function decodeCursor(list: string, cursor: string): PagePoint {
  const parsed = parse(cursor);
  if (Array.isArray(parsed) && parsed.length === 3) {
    const [name, born, id] = parsed;
    if (name === list && Number.isSafeInteger(born) && born >= 0 && typeof id === "string")
      return { born, id };
  }
  throw new HarnessError("invalid_request", "The cursor is not one that this list gave out.", {
    param: "cursor",
  });
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
