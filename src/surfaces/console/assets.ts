/** The files of the console as they were built: read once, compressed once, and named by their content. */

import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

const types: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};

/** The console's own files and its own server, and nothing else at all. */
const policy = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' blob: data:"],
  "manifest-src 'self'",
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  "require-trusted-types-for 'script'",
].join("; ");

const workerName = "sw.js";

interface Asset {
  bytes: Buffer;
  gzipped: Buffer;
  type: string;
  etag: string;
}

export class ConsoleAssets {
  readonly #folder: URL;
  readonly #names: ReadonlySet<string>;
  readonly #read = new Map<string, Asset>();

  constructor(folder: URL) {
    this.#folder = folder;
    this.#names = new Set(namesIn(folder));
  }

  /** Whether there is a console: it is part of the package, and made by the commands of a clone. */
  get isBuilt(): boolean {
    return this.#names.has("index.html");
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Names with a hash in them are never given to another content. */
  send(name: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { bytes, gzipped, type, etag } = this.#assetOf(name);
    const isForGood = /-[\w-]{8}\.\w+$/.test(name);
    reply.headers({
      "Cache-Control": isForGood ? "public, max-age=31536000, immutable" : "no-cache",
      "Content-Security-Policy": policy,
      "Cross-Origin-Opener-Policy": "same-origin",
      ETag: etag,
      // The worker keeps the documents of all pages, and is itself among the files.
      ...(name === workerName ? { "Service-Worker-Allowed": "/" } : {}),
      Vary: "Accept, Accept-Encoding",
    });
    if (request.headers["if-none-match"] === etag) return reply.code(304).send();
    const isCompressed = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    if (isCompressed) reply.header("Content-Encoding", "gzip");
    return reply.type(type).send(isCompressed ? gzipped : bytes);
  }

  #assetOf(name: string): Asset {
    const known = this.#read.get(name);
    if (known !== undefined) return known;
    const bytes = readFileSync(new URL(name, this.#folder));
    const type = types[extname(name)] ?? "application/octet-stream";
    const asset = { bytes, gzipped: gzipSync(bytes), type, etag: `"${hash("sha256", bytes)}"` };
    this.#read.set(name, asset);
    return asset;
  }
}

function namesIn(folder: URL): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) =>
      name.replaceAll("\\", "/"),
    );
  } catch {
    return [];
  }
}
