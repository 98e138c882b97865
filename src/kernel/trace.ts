/** W3C Trace Context: who follows work across systems finds ours in theirs. */

import { randomBytes } from "node:crypto";

export interface TraceContext {
  traceparent: string;
  tracestate?: string;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const tracestateCharsMax = 512;

/** What a caller sent, if it is well-formed; the standard has everything else ignored. */
export function readTrace(traceparent: string | undefined, tracestate?: string): TraceContext | null {
  const [, version, traceId = "", parentId = "", flags, more] = pattern.exec(traceparent ?? "") ?? [];
  if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  if (version === "00" && more !== undefined) return null;
  const usable = tracestate !== undefined && tracestate !== "" && tracestate.length <= tracestateCharsMax;
  return { traceparent: `00-${traceId}-${parentId}-${flags}`, ...(usable ? { tracestate } : {}) };
}

/** The same trace, for a call of ours: it has a span of its own. */
export function continueTrace({ traceparent, tracestate }: TraceContext): TraceContext {
  const [version, traceId, , flags] = traceparent.split("-");
  const spanId = randomBytes(8).toString("hex");
  return {
    traceparent: `${version}-${traceId}-${spanId}-${flags}`,
    ...(tracestate === undefined ? {} : { tracestate }),
  };
}
