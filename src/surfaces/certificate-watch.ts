/** Serves renewed certificates without a restart. Open connections keep the certificate they began with. */

import { readFileSync, statSync } from "node:fs";
import type { Server } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Logger } from "pino";
import { isUsable, type Tls, type TlsFiles, tlsOptions } from "./tls.ts";

/** Files are polled: change notifications are lost on network file systems and where a link is replaced, as in Kubernetes. */
const pollMsDefault = 10_000;

interface CertificateWatchOptions {
  files: TlsFiles;
  servers: readonly TlsServer[];
  logger: Logger;
  pollMs: number;
}

/** Null where there are no files to watch. */
export function watchCertificates(
  tls: Tls | null,
  servers: readonly (Server | undefined)[],
  logger: Logger,
  pollMs = pollMsDefault,
): CertificateWatch | null {
  if (tls?.files === undefined) return null;
  return new CertificateWatch({
    files: tls.files,
    servers: servers.filter((server) => server instanceof TlsServer),
    logger,
    pollMs,
  });
}

export class CertificateWatch implements Disposable {
  readonly #options: CertificateWatchOptions;
  readonly #timer: NodeJS.Timeout;
  /** What the files looked like when they were read last. */
  #seen: string;

  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#seen = stateOf(options.files);
    this.#timer = setInterval(() => this.#poll(), options.pollMs).unref();
  }

  /** Reads the files now. A file that cannot be served leaves the certificate in use as it is. */
  reload(): void {
    const { files, servers, logger } = this.#options;
    this.#seen = stateOf(files);
    const tls = readTls(files);
    if (tls instanceof Error || !isUsable(tls)) {
      const reason =
        tls instanceof Error ? tls.message : "the certificate and its key do not belong together";
      logger.error(
        { event: "tls.reload_failed", file: files.cert, reason },
        "Cannot use the changed TLS certificate; still serving the previous one",
      );
      return;
    }
    for (const server of servers) server.setSecureContext(tlsOptions(tls));
    logger.info({ event: "tls.reloaded", file: files.cert }, "Serving the changed TLS certificate");
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #poll(): void {
    if (stateOf(this.#options.files) !== this.#seen) this.reload();
  }
}

function pathsOf({ cert, key, clientCa }: TlsFiles): string[] {
  return [cert, key, clientCa].filter((path) => path !== undefined);
}

/** Differs when any of the files was written or replaced. */
function stateOf(files: TlsFiles): string {
  const states = pathsOf(files).map((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? "missing" : `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
  });
  return states.join(" ");
}

function readTls({ cert, key, clientCa }: TlsFiles): Tls | Error {
  const read = (path: string) => readFileSync(path, "utf8");
  try {
    return {
      cert: read(cert),
      key: read(key),
      clientCa: clientCa === undefined ? undefined : read(clientCa),
    };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
