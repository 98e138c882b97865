/** What the server counts, in the text format of Prometheus. It is about all tenants, so it is for whoever runs the server. */

import { requireScope } from "../../../kernel/access/authorize.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { defaultTenantId } from "../../../kernel/workspaces/ensure-tenant.ts";
import { type Caller, isBound } from "../../../policy/caller.ts";
import { operatorRoute, type Route } from "../route.ts";

export interface MetricsPage {
  /** Whether it is for everybody who reaches the port. */
  isOpen: boolean;
  contentType: string;
  read(): Promise<string>;
}

export function metricsRoutes(page: MetricsPage | null): Route[] {
  if (page === null) return [];
  return [
    operatorRoute({
      path: "/metrics",
      operationId: "getMetrics",
      summary: "What the server counts, for Prometheus.",
      tag: "Runtime",
      produces: "text/plain",
      authorize: page.isOpen ? null : requireOperator,
      handle: async (_request, reply) => reply.type(page.contentType).send(await page.read()),
    }),
  ];
}

function requireOperator(caller: Caller): void {
  requireScope(caller, "metrics:read");
  if (caller.tenantId === defaultTenantId && !isBound(caller)) return;
  throw new HarnessError(
    "permission_denied",
    "Metrics are about all tenants: they are for keys of the default tenant that are not bound.",
  );
}
