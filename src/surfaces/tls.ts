/** TLS as every port of the server speaks it: 1.2 or later, with client certificates where a CA for them is configured. */

import { createSecureContext, type TlsOptions } from "node:tls";
import { isLoopbackHost } from "./loopback.ts";

export interface TlsFiles {
  cert: string;
  key: string;
  clientCa?: string | undefined;
}

/** All as PEM. */
export interface Tls {
  cert: string;
  key: string;
  /** The CA of clients: when set, every client must present a certificate that it signed. */
  clientCa?: string | undefined;
  /** The paths they were read from. When set, the files are read again whenever they change. */
  files?: TlsFiles | undefined;
}

export function tlsOptions({ cert, key, clientCa }: Tls): TlsOptions {
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  return { cert, key, minVersion: "TLSv1.2", ...clients };
}

/** Whether they can be served: the key belongs to the certificate and has no passphrase. */
export function isUsable(tls: Tls): boolean {
  try {
    createSecureContext(tlsOptions(tls));
    return true;
  } catch {
    return false;
  }
}

/** What decides whether a port may be opened without TLS. */
export interface Exposure {
  host: string;
  tls: Tls | null;
  /** The operator accepts plain HTTP from other machines. */
  insecureHttp: boolean;
  /** A proxy in front is expected to terminate TLS. */
  trustedProxies: readonly string[];
}

/** Credentials travel with every request, so plain HTTP is for this machine only unless the operator says otherwise. */
export function problemWithExposure({ host, tls, insecureHttp, trustedProxies }: Exposure): string | null {
  if (tls !== null || insecureHttp || trustedProxies.length > 0 || isLoopbackHost(host)) return null;
  return (
    `Refusing to listen on ${host} without TLS: API keys would cross the network in clear text. ` +
    "Set --tls-cert and --tls-key, name the proxy that terminates TLS with --trust-proxy, or accept plain HTTP with --insecure-http."
  );
}

/** For programs that start a server themselves. */
export function requireSafeExposure(exposure: Exposure): void {
  const problem = problemWithExposure(exposure);
  if (problem !== null) throw new Error(problem);
}
