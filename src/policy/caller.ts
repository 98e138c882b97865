/** The one who calls: an actor of a tenant, perhaps bound to some of its workspaces, with scopes. */

export interface Caller {
  actor: string;
  tenantId: string;
  /** The workspaces it is bound to; null means all of the tenant's. */
  workspaceIds: readonly string[] | null;
  /** The only agents and personas that it may give work to, talk to and list; absent means all. */
  agentNames?: readonly string[];
  personaIds?: readonly string[];
  /** The only addresses that its credential may be used from; absent means all. */
  allowedCidrs?: readonly string[];
  scopes: ReadonlySet<Scope>;
  /** When the credential that was presented ends: nothing it makes in its name may last longer. */
  expiresAt?: string;
  /** The API key behind it; none for the administrator, for tokens of others, and for the harness itself. */
  keyId?: string;
  /** Which secret of that key was presented: how often the key had been rotated. None for access tokens. */
  secretVersion?: number;
  /** The network address that it calls from; none for the harness itself. */
  address?: string;
}

const resources = [
  "api_keys",
  "approvers",
  "artifacts",
  "branches",
  "connectors",
  "events",
  "memories",
  "messages",
  "outcomes",
  "personas",
  "quotas",
  "receipts",
  "sessions",
  "skills",
  "tasks",
  "vaults",
  "tools",
  "workspaces",
] as const;

type Resource = (typeof resources)[number];
/** To be a certain enforcer or approver at the gateway. */
export type HarpScope = `harp:${HarpRole}:${string}`;
/** To do one thing that agents ask of a host, in sessions that one made. */
export type HostScope = `host:${string}`;
export type HarpRole = "enforcer" | "approver";
export type Scope =
  | `${Resource}:read`
  | `${Resource}:write`
  | "approvals:write"
  | "audit:read"
  | "replays:live"
  | "events:read_internal"
  | "metrics:read"
  | HarpScope
  | HostScope
  | "hosts:write"
  | "admin";

/** Those that can be listed; of enforcers, approvers and host capabilities there are as many as there are names. */
export const allScopes: readonly Scope[] = [
  ...resources.flatMap((resource): Scope[] => [`${resource}:read`, `${resource}:write`]),
  "approvals:write",
  "audit:read",
  "replays:live",
  "hosts:write",
  "events:read_internal",
  "metrics:read",
  "admin",
];

/** What a scope is for, in a few words. */
function describeScope(scope: Scope): string {
  if (scope === "admin") return "Everything inside the tenant, except acting as an approver or enforcer.";
  if (scope === "approvals:write") return "Answer requests for permission.";
  if (scope === "audit:read") return "Read the audit log.";
  if (scope === "hosts:write") return "Be a host of any session: do what agents ask of it.";
  if (scope === "replays:live") return "Replay tasks with steps that really run.";
  if (scope === "events:read_internal") return "See content that is not public.";
  const [resource = "", action] = scope.split(":");
  return `${action === "read" ? "Read" : "Change"} ${resource.replaceAll("_", " ")}.`;
}

/** Every scope that can be listed, with what it is for, as OpenAPI and agent cards list them. */
export function describedScopes(): Record<string, string> {
  return Object.fromEntries(allScopes.map((scope) => [scope, describeScope(scope)]));
}

/** What OAuth lets a scope be made of (RFC 6749, 3.3): no spaces, no quotes, nothing that a header could not carry. */
const harpId = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;
const harpScope = /^harp:(enforcer|approver):(.*)$/s;

const hostScope = /^host:[A-Za-z][A-Za-z0-9_.-]{0,99}$/;

export function isScope(value: string): value is Scope {
  if (hostScope.test(value)) return true;
  const [, role, id = ""] = harpScope.exec(value) ?? [];
  return role === undefined ? (allScopes as readonly string[]).includes(value) : harpId.test(id);
}

/** Whom a caller may be at the gateway, in the order in which its scopes name them. */
export function harpIdentities({ scopes }: { scopes: Iterable<Scope> }): { role: HarpRole; id: string }[] {
  return [...scopes].flatMap((scope) => {
    const [, role, id] = harpScope.exec(scope) ?? [];
    if (id === undefined) return [];
    return [{ role: role === "enforcer" ? "enforcer" : "approver", id }];
  });
}

/** `admin` may do everything inside its tenant, except be an approver or an enforcer: those are named, one by one. */
export function mayUse(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || (caller.scopes.has("admin") && !isHarpScope(scope));
}

/** Nobody gives what they do not have; `admin` also makes approvers and enforcers, without being them. */
export function mayGrant(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || caller.scopes.has("admin");
}

export function isHarpScope(scope: string): scope is HarpScope {
  return harpScope.test(scope);
}

/** A caller sees its tenant and, inside it, its workspaces. What has no workspace belongs to the whole tenant. */
export function maySee(caller: Caller, tenantId: string, workspaceId: string | null | undefined): boolean {
  if (tenantId !== caller.tenantId) return false;
  return workspaceId == null || caller.workspaceIds === null || caller.workspaceIds.includes(workspaceId);
}

/** Whether a caller may give work to a persona, which runs an agent. */
export function mayReach({ agentNames, personaIds }: Caller, personaId: string, agent: string): boolean {
  return (agentNames?.includes(agent) ?? true) && (personaIds?.includes(personaId) ?? true);
}

/** Whether a caller is bound to some of what its tenant has. What concerns the whole tenant or server is not for it. */
export function isBound(caller: Caller): boolean {
  return caller.workspaceIds !== null || isBoundToAgents(caller);
}

export function isBoundToAgents({ agentNames, personaIds }: Caller): boolean {
  return agentNames !== undefined || personaIds !== undefined;
}

/** The harness itself, when it acts inside a tenant without being asked: start-up, recovery, the sweeper. */
export function systemCaller(tenantId: string): Caller {
  return { actor: "system", tenantId, workspaceIds: null, scopes: new Set(["admin"]) };
}
