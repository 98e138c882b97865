/**
 * Content that can be large: kept in place while it is small, under its SHA-256 when it is not, so that what is said
 * is stored once however many events and documents speak of it. The wrapper is ours alone; nothing a caller
 * sends can be mistaken for it.
 */

import { hash } from "node:crypto";
import { placeholder, redactedKindsIn } from "../../policy/redact/kinds.ts";
import type { Blob, JsonValue } from "../../store/port.ts";

/** Above this many bytes of JSON, content becomes a blob. */
const inlineBytesMax = 4096;

export type Content<T> =
  | { inline: T }
  /** `redacted` holds what stands in place of what was taken out of it, for those who do not read it. */
  | { blob: string; bytes: number; redacted?: string[] }
  /** It was erased: what is shown in its place, and the hash that receipts know it by. */
  | { erased: JsonValue; sha256: string };

export function seal<T>(value: T, blobs: Blob[]): Content<T> {
  const json = JSON.stringify(value);
  if (json.length * 3 <= inlineBytesMax || Buffer.byteLength(json) <= inlineBytesMax)
    return { inline: value };
  const bytes = Buffer.from(json);
  const sha256 = sha256Hex(bytes);
  blobs.push({ sha256, bytes });
  const redacted = redactedKindsIn(json).map(placeholder);
  return { blob: sha256, bytes: bytes.length, ...(redacted.length === 0 ? {} : { redacted }) };
}

/** What has to be read from elsewhere to show it; what is in place is small. */
export function blobBytes(content: Content<unknown>): number {
  return "blob" in content ? content.bytes : 0;
}

/** Content that events speak of is not in the store. */
export class MissingContent extends Error {
  override name = "MissingContent";
  readonly sha256: string;

  constructor(sha256: string) {
    super(`Blob ${sha256} is referenced but missing`);
    this.sha256 = sha256;
  }
}

export interface BlobSource {
  blob(sha256: string): Promise<Uint8Array | undefined>;
}

/** The type argument is what `seal` was given: content is written by `seal` only, so it is trusted here. */
export async function unseal<T>(content: Content<T>, source: BlobSource): Promise<T> {
  if ("inline" in content) return content.inline;
  if ("erased" in content) throw new MissingContent(content.sha256);
  const bytes = await source.blob(content.blob);
  if (bytes === undefined) throw new MissingContent(content.blob);
  return JSON.parse(Buffer.from(bytes).toString("utf8"));
}

/** Small content, which need not be waited for. */
export function inlined<T>(content: Content<T>): T | undefined {
  return "inline" in content ? content.inline : undefined;
}

/** The same for showing it: what was erased, or is about to leave by age, is shown as what stands in its place. */
export async function unsealShown<T>(
  content: Content<T>,
  source: BlobSource,
): Promise<{ value: T } | { erased: JsonValue }> {
  if ("erased" in content) return { erased: content.erased };
  try {
    return { value: await unseal(content, source) };
  } catch (error) {
    if (!(error instanceof MissingContent)) throw error;
    return { erased: { redacted: true, type: "json", sha256: error.sha256 } };
  }
}

/** The same from content at hand; nothing when it is not there. */
export function unsealFrom<T>(content: Content<T>, blobs: ReadonlyMap<string, Uint8Array>): T | undefined {
  if ("inline" in content) return content.inline;
  if ("erased" in content) return undefined;
  const bytes = blobs.get(content.blob);
  return bytes === undefined ? undefined : JSON.parse(Buffer.from(bytes).toString("utf8"));
}

export function sha256Hex(data: Uint8Array | string): string {
  return hash("sha256", data, "hex");
}
