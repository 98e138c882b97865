/** A server, as a program uses it. */

import { type AdminKeys, createAdminKey } from "./admin-key.ts";
import { type Agents, createAgents, createPersonas, type Personas } from "./agents.ts";
import { type ApiKeys, createApiKeys } from "./api-keys.ts";
import { type Approvals, createApprovals } from "./approvals.ts";
import { type Artifacts, createArtifacts } from "./artifacts.ts";
import { type Audit, createAudit } from "./audit.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { createQuotas, type Quotas } from "./quotas.ts";
import { createReceipts, type Receipts } from "./receipts.ts";
import { createSessions, type Sessions } from "./sessions.ts";
import { createTasks, type Tasks } from "./tasks.ts";
import { type ClientOptions, createTransport } from "./transport.ts";
import type { BridleEvent } from "./types.ts";
import { createVaults, type Vaults } from "./vaults.ts";
import { type Connectors, createConnectors, createWorkspaces, type Workspaces } from "./workspaces.ts";

export interface EventsOptions extends FollowOptions {
  workspaceId?: string;
  sessionId?: string;
}

export interface BridleClient {
  sessions: Sessions;
  tasks: Tasks;
  agents: Agents;
  personas: Personas;
  workspaces: Workspaces;
  connectors: Connectors;
  vaults: Vaults;
  quotas: Quotas;
  apiKeys: ApiKeys;
  adminKey: AdminKeys;
  approvals: Approvals;
  artifacts: Artifacts;
  receipts: Receipts;
  audit: Audit;
  /** Every event that this key may see, once and in order, until whoever reads leaves or aborts. */
  events(options?: EventsOptions): AsyncGenerator<BridleEvent, void, undefined>;
}

export function createClient(options: ClientOptions): BridleClient {
  const transport = createTransport(options);
  const sessions = createSessions(transport);
  return {
    sessions,
    tasks: createTasks(transport, sessions),
    agents: createAgents(transport),
    personas: createPersonas(transport),
    workspaces: createWorkspaces(transport),
    connectors: createConnectors(transport),
    vaults: createVaults(transport),
    quotas: createQuotas(transport),
    apiKeys: createApiKeys(transport),
    adminKey: createAdminKey(transport),
    approvals: createApprovals(transport),
    artifacts: createArtifacts(transport),
    receipts: createReceipts(transport),
    audit: createAudit(transport),
    events({ workspaceId, sessionId, ...rest } = {}) {
      const followed = {
        path: "/v1/events/stream",
        query: { workspace_id: workspaceId, session_id: sessionId },
        isEnding: () => false,
        isOver: async () => false,
      };
      return follow(transport, followed, rest);
    },
  };
}
