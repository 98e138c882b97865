/** Who can be given tasks: the agents that the server has loaded, and the personas that act under their names. */

import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { Agent, CallOptions, Persona } from "./types.ts";

export interface Agents extends Listed<Agent> {
  get(name: string, options?: CallOptions): Promise<Agent>;
}

export interface Personas extends Listed<Persona> {
  get(id: string, options?: CallOptions): Promise<Persona>;
}

export function createAgents(transport: Transport): Agents {
  return {
    ...createListed<Agent>(transport, "/v1/agents"),
    get(name, { signal } = {}) {
      return transport.resource<Agent>("agent", `/v1/agents/${segment(name)}`, { signal });
    },
  };
}

export function createPersonas(transport: Transport): Personas {
  return {
    ...createListed<Persona>(transport, "/v1/personas"),
    get(id, { signal } = {}) {
      return transport.resource<Persona>("persona", `/v1/personas/${segment(id)}`, { signal });
    },
  };
}
