/** TLS as every port of the server speaks it: never older than 1.2, and with certificates of clients where they are asked for. */

import type { TlsOptions } from "node:tls";

export interface Tls {
  cert: string;
  key: string;
  /** Who vouches for clients, as PEM: then every client has to show a certificate. */
  clientCa?: string | undefined;
}

export function tlsOptions({ cert, key, clientCa }: Tls): TlsOptions {
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  return { cert, key, minVersion: "TLSv1.2", ...clients };
}
