/** A span as plain facts, before any library has its say. */

export type AttributeValue = string | number | boolean | string[];
export type Attributes = Record<string, AttributeValue>;

export interface SpanFacts {
  name: string;
  /** `client` for what is asked of somebody else. */
  kind: "internal" | "client";
  traceId: string;
  spanId: string;
  parent: { spanId: string; isRemote: boolean } | null;
  tracestate: string | undefined;
  startedAt: string;
  endedAt: string;
  attributes: Attributes;
  /** The code of what went wrong; the message only where content is wanted, because it may quote some. */
  error: { code: string; message: string | null } | null;
  moments: { name: string; at: string }[];
  links: { traceId: string; spanId: string }[];
}

/** Leaves out what is not known. */
export function known(attributes: Record<string, AttributeValue | null | undefined>): Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== null && value !== undefined);
  // Just filtered.
  return Object.fromEntries(entries) as Attributes;
}
