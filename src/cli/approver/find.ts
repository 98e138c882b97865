/** A request by its id, or by as much of the id as no other one begins with. */

import type { Approver, OpenedRequest, PendingRequest } from "../../sdk/approver/approver.ts";
import { oneLine } from "../terminal/text.ts";

/** As many candidates as are named. */
const namedMax = 5;

/** One that waits or, where none does, one that has expired. */
export async function findAny(approver: Approver, prefix: string): Promise<PendingRequest> {
  const found = (await findIn(approver.inbox(), prefix)) ?? (await findIn(approver.expired(), prefix));
  return found ?? (await explainMissing(approver, prefix));
}

/** One that can be decided. */
export async function findOpened(approver: Approver, prefix: string): Promise<OpenedRequest> {
  const found = await findIn(approver.inbox(), prefix);
  const request = found ?? (await explainMissing(approver, prefix));
  if (request.isOpened) return request;
  throw new Error(
    `${oneLine(request.requestId)} cannot be opened, so nothing is signed: ${oneLine(request.problem.message)} (${request.problem.code})`,
  );
}

export async function findIn(
  requests: AsyncIterable<PendingRequest>,
  prefix: string,
): Promise<PendingRequest | null> {
  const found: PendingRequest[] = [];
  for await (const request of requests) {
    if (request.requestId === prefix) return request;
    if (request.requestId.startsWith(prefix) && found.length <= namedMax) found.push(request);
  }
  if (found.length <= 1) return found[0] ?? null;
  const names = found.slice(0, namedMax).map(({ requestId }) => oneLine(requestId));
  const more = found.length > namedMax ? ", …" : "";
  throw new Error(`more than one request begins with ${oneLine(prefix)}: ${names.join(", ")}${more}`);
}

async function explainMissing(approver: Approver, requestId: string): Promise<never> {
  const status = await approver.status(requestId);
  const name = oneLine(requestId);
  if (status === null) throw new Error(`no request that waits for you begins with ${name}.`);
  const hint = status.state === "expired" ? ` \`bridle approver refresh ${name}\` has it asked again.` : "";
  throw new Error(
    `${name} does not wait for a decision any more: the gateway says that it is ${status.state}.${hint}`,
  );
}
