/** Warns when a peer that is no trusted proxy says for whom it asks: if it is a proxy, all its clients count as one address. */

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { FailureLog } from "../policy/failure-log.ts";

const advice =
  "X-Forwarded-For is ignored: the peer is no trusted proxy. If it is your proxy, name it with --trust-proxy; until then all its clients share one address for rate limits, key restrictions and the audit log.";

export function warnOfIgnoredForwarding(app: FastifyInstance, logger: Logger): void {
  const ignored = new FailureLog(({ failures: requests, ...rest }) =>
    logger.warn({ event: "http.forwarded_for_ignored", requests, ...rest }, advice),
  );
  app.addHook("onRequest", (request, _reply, done) => {
    if (isIgnored(request)) ignored.note(request.ip);
    done();
  });
}

/** A trusted peer is followed by the address that it names. */
function isIgnored({ headers, ips = [] }: FastifyRequest): boolean {
  return headers["x-forwarded-for"] !== undefined && ips.length < 2;
}
