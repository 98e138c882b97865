/** Who can be given tasks: the agents that the server has loaded, and the personas that act under their names. */

import {
  type Changeable,
  type Creatable,
  createChangeable,
  createCreatable,
  createReadable,
  pathOf,
  type Readable,
} from "./resources.ts";
import type { Transport } from "./transport.ts";
import type { Agent, CreatePersonaRequest, Persona, UpdatePersonaRequest, WriteOptions } from "./types.ts";

export type Agents = Readable<Agent>;

/** A change counts for tasks that are submitted from then on; `pending_change` is there while approvers have to agree. */
export interface Personas
  extends Readable<Persona>,
    Creatable<Persona, CreatePersonaRequest>,
    Changeable<Persona, UpdatePersonaRequest> {
  /** Withdraws the change that waits for approvers. */
  withdraw(id: string, options?: WriteOptions): Promise<Persona>;
}

export function createAgents(transport: Transport): Agents {
  return createReadable<Agent>(transport, { object: "agent", path: "/v1/agents" });
}

const kind = { object: "persona", path: "/v1/personas" };

export function createPersonas(transport: Transport): Personas {
  return {
    ...createReadable<Persona>(transport, kind),
    ...createCreatable<Persona, CreatePersonaRequest>(transport, kind),
    ...createChangeable<Persona, UpdatePersonaRequest>(transport, kind),
    withdraw: (id, options = {}) =>
      transport.resource<Persona>(kind.object, `${pathOf(kind, id)}/pending-change`, {
        method: "DELETE",
        ...options,
      }),
  };
}
