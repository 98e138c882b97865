/** Workspaces, and the connectors through which deliveries of other systems come into them. */

import { readText } from "./answers.ts";
import {
  type Changeable,
  type Creatable,
  createChangeable,
  createCreatable,
  createReadable,
  type InWorkspace,
  pathOf,
  type Readable,
} from "./resources.ts";
import type { Transport } from "./transport.ts";
import type {
  Connector,
  CreateConnectorRequest,
  CreateWorkspaceRequest,
  UpdateConnectorRequest,
  UpdateWorkspaceRequest,
  Workspace,
  WriteOptions,
} from "./types.ts";

export interface Workspaces
  extends Readable<Workspace>,
    Creatable<Workspace, CreateWorkspaceRequest>,
    Changeable<Workspace, UpdateWorkspaceRequest> {}

/** The signing secret is in `secret` of a connector that was just created, this once. */
export interface Connectors
  extends Readable<Connector, InWorkspace>,
    Creatable<Connector, CreateConnectorRequest>,
    Changeable<Connector, UpdateConnectorRequest> {
  delete(id: string, options?: WriteOptions): Promise<void>;
}

const workspaceKind = { object: "workspace", path: "/v1/workspaces" };

export function createWorkspaces(transport: Transport): Workspaces {
  return {
    ...createReadable<Workspace>(transport, workspaceKind),
    ...createCreatable<Workspace, CreateWorkspaceRequest>(transport, workspaceKind),
    ...createChangeable<Workspace, UpdateWorkspaceRequest>(transport, workspaceKind),
  };
}

const connectorKind = { object: "connector", path: "/v1/connectors" };

export function createConnectors(transport: Transport): Connectors {
  return {
    ...createReadable<Connector, InWorkspace>(transport, connectorKind),
    ...createCreatable<Connector, CreateConnectorRequest>(transport, connectorKind),
    ...createChangeable<Connector, UpdateConnectorRequest>(transport, connectorKind),
    async delete(id, options = {}) {
      await transport.request(pathOf(connectorKind, id), { method: "DELETE", ...options }, readText);
    },
  };
}
