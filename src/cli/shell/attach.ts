/** Files that go with a message: uploaded first, because messages carry references and never content. */

import { openAsBlob } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import type { Attachment } from "../../sdk/shell/index.ts";
import type { Remote } from "../remote.ts";

const types: Record<string, string> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".htm": "text/html",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

/** Uploads a file and gives the reference to it. */
export async function upload(remote: Remote, path: string, signal: AbortSignal): Promise<Attachment> {
  const file = resolve(unquoted(path));
  const found = await stat(file).catch(() => null);
  if (found === null) throw new Error(`there is no file ${file}.`);
  if (!found.isFile()) throw new Error(`${file} is not a file.`);
  const filename = basename(file);
  const type = types[extname(file).toLowerCase()] ?? "application/octet-stream";
  const id = await remote.upload(filename, await openAsBlob(file, { type }), signal);
  return { ref_id: id, filename, mime_type: type, size_bytes: found.size };
}

/** Paths are pasted with quotes or with spaces that are escaped, as terminals put them. */
function unquoted(path: string): string {
  const [, inner] = /^(["'])(.*)\1$/.exec(path) ?? [];
  return (inner === undefined ? path.replaceAll(/\\(.)/g, "$1") : path.slice(1, -1)).replace(
    /^~(?=\/)/,
    process.env.HOME ?? "~",
  );
}
