/** Who asks for something over a connection that was opened before. */

import { HarnessError } from "../kernel/core/errors.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Caller } from "../policy/caller.ts";

/** What a connection was opened with, and from where: the audit log says so of everything that it asks for. */
export interface OpenedBy {
  credential: string;
  address: string;
}

/** A key that was revoked meanwhile asks for nothing any more. Its address was checked at the beginning; each question counts as a request. */
export async function callerNow(
  { authenticate, rates }: Pick<Kernel, "authenticate" | "rates">,
  { credential, address }: OpenedBy,
): Promise<Caller> {
  const caller = await authenticate(credential);
  if (caller !== null) {
    rates.take(caller);
    return { ...caller, address };
  }
  throw new HarnessError("unauthenticated", "The credentials of this connection are no longer valid.");
}
