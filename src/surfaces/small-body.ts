/** Bodies of callers from whom nothing large is expected: refused by their length, before a byte is read. */

import type { FastifyRequest } from "fastify";
import { HarnessError } from "../kernel/core/errors.ts";
import { type Caller, mayUse, type Scope } from "../policy/caller.ts";

/** Enough for every request that carries no content. */
export const smallBytesMax = 64 * 1024;

/** Where only the body names the operation: without any of the scopes that large requests need, a body is small. */
export function requireSmallUnless(request: FastifyRequest, caller: Caller, scopes: readonly Scope[]): void {
  if (scopes.some((scope) => mayUse(caller, scope))) return;
  requireSmallBody(request, smallBytesMax, `Without the scope ${scopes.join(" or ")}`);
}

/** `who` begins the sentence that refuses. A body of unknown length counts as large. */
export function requireSmallBody(request: FastifyRequest, bytesMax: number, who: string): void {
  if (bodyBytesOf(request) <= bytesMax) return;
  throw new HarnessError(
    "payload_too_large",
    `${who} a body has at most ${bytesMax} bytes, and a Content-Length.`,
  );
}

function bodyBytesOf({ headers }: FastifyRequest): number {
  if (headers["transfer-encoding"] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers["content-length"] ?? 0);
}
