/** The audit log: who administered what, from where. Needs the scope `audit:read`. */

import { unreadable } from "./answers.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { readLines } from "./json-lines.ts";
import { createListed, type Listed } from "./lists.ts";
import type { Transport } from "./transport.ts";
import type { AuditRecord, AuditVerification, BridleEvent, CallOptions, PageOptions } from "./types.ts";

export interface ListAudit extends PageOptions {
  /** Only this action, such as `api_key.create`. */
  action?: string;
  actor?: string;
  from?: Date;
  until?: Date;
}

export interface Audit extends Listed<AuditRecord, ListAudit> {
  /** Every record once and in order, until the reader leaves or aborts. */
  follow(options?: FollowOptions): AsyncGenerator<AuditRecord, void, undefined>;
  /** The whole log, oldest record first, a line each. */
  export(options?: CallOptions): AsyncGenerator<string, void, undefined>;
  /** Has the server check its hash chain. To check it without trusting the server: `bridle audit verify FILE`. */
  verify(options?: CallOptions): Promise<AuditVerification>;
}

export function createAudit(transport: Transport): Audit {
  return {
    ...createListed<AuditRecord, ListAudit>(transport, "/v1/audit", ({ action, actor, from, until }) => ({
      action,
      actor,
      from: from?.toISOString(),
      until: until?.toISOString(),
    })),
    async *follow(options = {}) {
      const followed = { path: "/v1/audit/stream", isEnding: () => false, isOver: async () => false };
      for await (const event of follow(transport, followed, options)) yield recordIn(event);
    },
    export: (options = {}) => readLines(transport, "/v1/audit/export", options),
    verify({ signal } = {}) {
      return transport.resource<AuditVerification>("audit_verification", "/v1/audit/verify", { signal });
    },
  };
}

function recordIn({ event, payload }: BridleEvent): AuditRecord {
  if (event === "vendor.bridle.audit.recorded") return payload;
  throw unreadable("an audit record");
}
