/** What stands for content that a caller may not see: it shows that there is something, and nothing can be guessed from it. */

import { createHmac } from "node:crypto";
import type { ApprovalAccess } from "../approvals/access.ts";

/**
 * A keyed hash in the form of a SHA-256. It is the same whenever the same content is read in the same place. The same content in another place, or in
 * another tenant, has another one: whoever writes guesses of their own cannot compare them with what is hidden.
 */
export function hiddenHash(
  { derive }: Pick<ApprovalAccess, "derive">,
  tenantId: string,
  place: string,
  content: unknown,
): string {
  const key = derive(`bridle hidden content ${tenantId}`);
  return createHmac("sha256", key)
    .update(JSON.stringify([place, content]))
    .digest("hex");
}
