/** Where the steps of a task sent something, for its receipt: one entry for each step and destination. */

import type { NetworkEgress } from "../../receipts/schema.ts";
import type { NetworkUse, StepSpan } from "../core/events.ts";

/** What is listed one by one; the rest is counted. */
const listedMax = 100;

const purposes: Partial<Record<StepSpan["kind"], string>> = {
  llm: "model call",
  mcp: "MCP tool call",
  tool: "tool call",
  handoff: "A2A hand-off",
};

export class EgressFacts {
  readonly list: NetworkEgress[] = [];
  count = 0;

  add(span: StepSpan & { network?: NetworkUse[] }): void {
    for (const use of span.network ?? []) {
      this.count += 1;
      if (this.list.length < listedMax) this.list.push(entryOf(span, use));
    }
  }
}

function entryOf(
  { kind, name, step }: StepSpan,
  { protocol, host, port, requests }: NetworkUse,
): NetworkEgress {
  return {
    destination: `${protocol}://${host}:${port}`,
    purpose: `${purposes[kind] ?? "code of the agent"}: ${name}`,
    metadata: { step, protocol, host, port, requests },
  };
}
