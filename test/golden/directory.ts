/** A data directory as one compressed file: what is in it, and what whoever opens it needs to know. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import type { ApproverSecrets } from "../../src/harp/core/secrets.ts";

export interface Golden {
  /** The version and the time that it was made with and at. */
  made: { version: string; at: string };
  /** The tasks that wait, by what they wait for. */
  tasks: Record<string, string>;
  sessionId: string;
  uploadId: string;
  approver: { id: string; key: string; secrets: ApproverSecrets };
  /** The files of the data directory, in base64. */
  files: Record<string, string>;
}

const here = fileURLToPath(new URL(".", import.meta.url));
const suffix = ".json.br";
/** Of one process and of no use to another. */
const left = new Set(["lock.db", "gateway/lock.db", "server.pid", "gateway/server.pid", "server.json"]);

export function goldenNames(): string[] {
  return readdirSync(here)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .sort();
}

export function readGolden(name: string): Golden {
  return JSON.parse(brotliDecompressSync(readFileSync(join(here, name + suffix))).toString("utf8"));
}

export function writeGolden(name: string, data: string, facts: Omit<Golden, "files">): void {
  const paths = readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(data.length + 1))
    .filter((path) => !left.has(path));
  const files = Object.fromEntries(
    paths.map((path) => [path, readFileSync(join(data, path)).toString("base64")]),
  );
  writeFileSync(join(here, name + suffix), brotliCompressSync(JSON.stringify({ ...facts, files })));
}

export function unpack({ files }: Golden, data: string): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(data, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(data, path), Buffer.from(content, "base64"), { mode: 0o600 });
  }
}
