/** Which content an agent takes. */

import type { Part } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { OpvsError } from "./errors.ts";
import { octets } from "./view/parts.ts";

/** Refuses the first part that is of no type among the modes. An address that does not say what is there is let through. */
export function requireAccepted(parts: readonly Part[], modes: readonly string[]): void {
  for (const part of parts) {
    const mediaType = mediaTypeOf(part);
    if (mediaType === null || modes.some((mode) => covers(mode, mediaType))) continue;
    throw new OpvsError(
      "CONTENT_TYPE_NOT_SUPPORTED",
      `This agent does not take ${mediaType}; it takes ${modes.join(", ")}.`,
      { mediaType },
    );
  }
}

/** Refuses a client that takes nothing of what the agent gives. One that does not say takes everything. */
export function requireAnswerable(accepted: readonly string[], modes: readonly string[]): void {
  if (accepted.length === 0) return;
  const takes = accepted.map((mode) => mode.toLowerCase().split(";")[0]?.trim() ?? "");
  if (takes.some((mode) => modes.some((given) => covers(mode, given) || covers(given, mode)))) return;
  throw new OpvsError(
    "CONTENT_TYPE_NOT_SUPPORTED",
    `This agent gives ${modes.join(", ")}, and none of what is accepted: ${accepted.slice(0, 10).join(", ")}.`,
    { mediaType: accepted[0] ?? "" },
  );
}

function mediaTypeOf({ mediaType, content }: Part): string | null {
  // Parameters such as a charset do not make another type.
  const [given = ""] = mediaType.toLowerCase().split(";");
  if (given.trim() !== "") return given.trim();
  if (content.case === "url") return null;
  if (content.case === "raw") return octets;
  return content.case === "data" ? "application/json" : "text/plain";
}

/** A bare word such as `text` stands for all types that begin so. */
function covers(mode: string, mediaType: string): boolean {
  if (mode === "*/*" || mode === mediaType) return true;
  const family = mode.endsWith("/*") ? mode.slice(0, -1) : mode.includes("/") ? null : `${mode}/`;
  return family !== null && mediaType.startsWith(family);
}
