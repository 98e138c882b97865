/** Secrets of a HashiCorp Vault: KV version 2 over HTTP, with a token or an AppRole, through the guarded way out. */

import { type Outbound, OutboundFailed, OutboundRefused } from "../../policy/outbound.ts";
import type { JsonValue } from "../../store/port.ts";
import { type Clock, steadyNow } from "../core/clock.ts";
import { HarnessError } from "../core/errors.ts";
import { hasTooManyValues } from "../core/json-values.ts";
import type { HashicorpSource } from "../kinds/vault.ts";

export type HashicorpLogin = { token: string } | { role_id: string; secret_id: string };

const limits = { connectMs: 5_000, headersMs: 10_000, totalMs: 15_000, answerBytesMax: 1024 * 1024 };
/** A token is not used up to its last moment. */
const earlyMs = 10_000;

interface Access {
  outbound: Outbound;
  clock: Clock;
}

interface Known {
  token: string;
  until: number;
}

/** What AppRoles were given, by the vault; lost with the process. */
const tokens = new WeakMap<Outbound, Map<string, Known>>();

/** Null when it is not there. */
export async function readHashicorp(
  access: Access,
  vaultId: string,
  { source, login }: { source: HashicorpSource; login: HashicorpLogin },
  name: string,
): Promise<{ value: string; version: number } | null> {
  const { mount, path } = source;
  const token = "token" in login ? login.token : await tokenFor(access, vaultId, source, login);
  const answer = await ask(access, source, { path: `${mount}/data/${path}`, token });
  if (answer.status === 404) return null;
  if (answer.status === 403) tokens.get(access.outbound)?.delete(vaultId);
  if (answer.status !== 200) throw unavailable(vaultId, `the answer was ${answer.status}`);
  const data = memberIn(answer.body, "data");
  const value = memberIn(memberIn(data, "data"), name);
  const version = memberIn(memberIn(data, "metadata"), "version");
  if (value === null) return null;
  if (typeof value !== "string") throw unavailable(vaultId, `${name} is not a text`);
  return { value, version: typeof version === "number" ? version : 1 };
}

async function tokenFor(
  access: Access,
  vaultId: string,
  source: HashicorpSource,
  login: { role_id: string; secret_id: string },
): Promise<string> {
  const known = tokens.get(access.outbound) ?? new Map<string, Known>();
  tokens.set(access.outbound, known);
  const now = steadyNow(access.clock);
  const found = known.get(vaultId);
  if (found !== undefined && found.until > now) return found.token;
  const answer = await ask(access, source, { path: "auth/approle/login", login });
  const auth = memberIn(answer.body, "auth");
  const [token, seconds] = [memberIn(auth, "client_token"), memberIn(auth, "lease_duration")];
  if (answer.status !== 200 || typeof token !== "string")
    throw unavailable(vaultId, `the login was answered with ${answer.status}`);
  known.set(vaultId, { token, until: now + Number(seconds ?? 0) * 1000 - earlyMs });
  return token;
}

async function ask(
  { outbound }: Access,
  { address, namespace }: HashicorpSource,
  { path, token, login }: { path: string; token?: string; login?: object },
): Promise<{ status: number; body: JsonValue }> {
  try {
    const answer = await outbound.request(`${address.replace(/\/+$/, "")}/v1/${path}`, {
      ...(login === undefined ? {} : { method: "POST", body: JSON.stringify(login) }),
      headers: {
        "x-vault-request": "true",
        ...(token === undefined ? {} : { "x-vault-token": token }),
        ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
      },
      ...limits,
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return { status: answer.status, body: parsed(Buffer.concat(chunks)) };
  } catch (error) {
    if (!(error instanceof OutboundFailed) && !(error instanceof OutboundRefused)) throw error;
    throw new HarnessError("upstream_unavailable", `The vault's server cannot be asked: ${error.message}`);
  }
}

function parsed(bytes: Buffer): JsonValue {
  // That would hold the event loop; no secret looks like it.
  if (hasTooManyValues(bytes)) return null;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

function memberIn(value: JsonValue, name: string): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function unavailable(vaultId: string, why: string): HarnessError {
  return new HarnessError("upstream_unavailable", `The server of vault ${vaultId} gives no secret: ${why}.`);
}
