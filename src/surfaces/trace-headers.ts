/** The trace that an HTTP request is part of, as its headers say. */

import type { IncomingHttpHeaders } from "node:http";
import { readTrace, type TraceContext } from "../kernel/core/trace.ts";

export function traceIn({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | null {
  return readTrace(textOf(traceparent), textOf(tracestate));
}

/** Several `tracestate` headers come as one, joined; a `traceparent` that comes twice is none. */
function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}
