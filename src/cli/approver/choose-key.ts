/**
 * Which API key goes to a gateway: one that was given for it, the one that was saved with it, or, for the server on this
 * machine, its own administrator's. A key that belongs elsewhere is never sent.
 */

import { join } from "node:path";
import { defaultConfig } from "../../config.ts";
import { readAdminKey } from "../../policy/admin-key.ts";

export interface KeyChoice {
  gateway: string;
  given: { key: string; by: "flag" | "environment" } | null;
  /** Of the profile, with the gateway that it is for. */
  saved: { key: string; gateway: string } | null;
  /** The server's data directory. */
  data: string;
  environment: NodeJS.ProcessEnv;
}

export interface ChosenKey {
  key: string;
  /** Whether it may be kept in the profile: what somebody gave for this gateway may. */
  isOurs: boolean;
}

export function chooseKey({ gateway, given, saved, data, environment }: KeyChoice): ChosenKey {
  const isLocal = isServerHere(gateway, environment);
  if (given !== null) {
    // Many have the server's key in their environment, and it opens everything there.
    if (given.by === "environment" && given.key.startsWith("bridle_admin_") && !isLocal) {
      throw new Error(
        `BRIDLE_KEY is an administrator's key, and ${gateway} is not the server that it is for. Give the approver's own key with --key.`,
      );
    }
    return { key: given.key, isOurs: true };
  }
  if (saved !== null && saved.gateway === gateway) return { key: saved.key, isOurs: true };
  const key = isLocal ? administratorsKey(data, environment) : null;
  if (key !== null) return { key, isOurs: false };
  throw new Error(`no API key for ${gateway}: give one with --key, or set BRIDLE_KEY.`);
}

const loopback = ["localhost", "127.0.0.1", "[::1]"];

/** The server that the other commands talk to, and on this machine. */
function isServerHere(gateway: string, environment: NodeJS.ProcessEnv): boolean {
  const server = URL.parse(environment.BRIDLE_URL ?? `http://${defaultConfig.host}:${defaultConfig.port}`);
  const url = URL.parse(gateway);
  return url !== null && server !== null && url.origin === server.origin && loopback.includes(url.hostname);
}

function administratorsKey(data: string, environment: NodeJS.ProcessEnv): string | null {
  if (environment.BRIDLE_API_KEY) return environment.BRIDLE_API_KEY;
  return readAdminKey(join(data, "admin.key"));
}
