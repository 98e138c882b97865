/** One request to the gateway: as whom the caller may act, and what was sent. */

import type { FastifyReply, FastifyRequest } from "fastify";
import { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import type { Gateway } from "../../harp/gateway/gateway.ts";
import type { Principal, Role } from "../../harp/gateway/principal.ts";
import { refusal } from "../../harp/gateway/refusals.ts";
import { type Caller, harpIdentities, isBound } from "../../policy/caller.ts";
import { readJson } from "./read.ts";

const idCharsMax = 128;

export class HarpCall {
  readonly gateway: Gateway;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly parties: Parties;

  constructor(gateway: Gateway, request: FastifyRequest, reply: FastifyReply, parties: Parties) {
    this.gateway = gateway;
    this.request = request;
    this.reply = reply;
    this.parties = parties;
  }

  get nowMs(): number {
    return this.gateway.deps.now();
  }

  /** An id in the address. */
  param(name: string): string {
    const params: Record<string, unknown> = Object(this.request.params);
    const value = String(params[name] ?? "");
    if (value === "" || value.length > idCharsMax) {
      throw refusal("ValidationError", `${name} has 1 to ${idCharsMax} characters.`, { param: name });
    }
    return value;
  }

  /** A value behind the question mark, which may come once. */
  query(name: string): string | undefined {
    const query: Record<string, unknown> = Object(this.request.query);
    const value = Object.hasOwn(query, name) ? query[name] : undefined;
    if (value === undefined || typeof value === "string") return value;
    throw refusal("ValidationError", `${name} must be given once.`, { param: name });
  }

  /** What was sent, as JSON. */
  json(): unknown {
    return readJson(this.text());
  }

  text(): string {
    return typeof this.request.body === "string" ? this.request.body : "";
  }
}

/**
 * As whom a caller may act: by the scopes of its credentials. `admin` stands for nobody but the administrator, who is the whole
 * tenant's: a gateway knows no workspaces, so a key that is bound to some is not it.
 */
export class Parties {
  readonly #all: readonly Principal[];
  readonly caller: Caller;

  constructor(caller: Caller) {
    this.caller = caller;
    const { tenantId, actor } = caller;
    const named = harpIdentities(caller).map((identity): Principal => ({ tenantId, ...identity }));
    const isAdmin = caller.scopes.has("admin") && !isBound(caller);
    this.#all = isAdmin ? [...named, { tenantId, role: "admin", id: actor }] : named;
  }

  /** The one that calls are counted by. */
  get first(): Principal | null {
    return this.#all[0] ?? null;
  }

  /** For what is the same for all of them. */
  get any(): Principal {
    if (this.first !== null) return this.first;
    throw refusal("Forbidden", "These credentials are not for this.");
  }

  /** For what is for one of them: the first of that role. */
  the(role: Role): Principal {
    const found = this.#all.find((party) => party.role === role);
    if (found !== undefined) return found;
    throw refusal("Forbidden", `This is for ${role}s only.`);
  }

  mayBe(role: Role | "admin"): boolean {
    return this.#all.some((party) => party.role === role);
  }

  /** For a call that says as whom it is made. */
  as(role: Role, id: string): Principal {
    const found = this.#all.find((party) => party.role === role && party.id === id);
    if (found !== undefined) return found;
    throw refusal("Forbidden", `These credentials are not those of this ${role}.`);
  }

  /** For a call that does not: the first of them that it works for. */
  async either<Result>(
    roles: readonly Principal["role"][],
    call: (principal: Principal) => Promise<Result>,
  ): Promise<Result> {
    const candidates = this.#all.filter(({ role }) => roles.includes(role));
    const last = candidates.at(-1);
    if (last === undefined) throw refusal("Forbidden", `This is for others: ${roles.join(", ")}.`);
    for (const candidate of candidates.slice(0, -1)) {
      try {
        return await call(candidate);
      } catch (error) {
        if (!(error instanceof GatewayRefusal) || error.status !== 404) throw error;
      }
    }
    return await call(last);
  }
}
