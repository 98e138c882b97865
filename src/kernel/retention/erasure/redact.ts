/**
 * Content replaced by descriptors: what the log and the documents look like once their content was erased.
 *
 * It works by what may stay, not by what must go: ids, times, hashes, states, numbers and the names of steps. Every other
 * text is replaced, so that a field somebody adds later is erased until somebody says that it is no content. What is
 * replaced already stays as it is: erasing twice is erasing once.
 */

import type { JsonValue } from "../../../store/port.ts";
import { type BlobSource, type Content, MissingContent, sha256Hex, unseal } from "../../core/content.ts";
import { contentHash } from "../../receipts/facts.ts";

/** Replaced as a whole, whatever is in them: a caller or an agent decides what that is. */
const opaqueKeys = new Set([
  "metadata",
  "action",
  "answer",
  "modified_input",
  "schema",
  "details",
  "provenance",
  "redaction_policy",
]);
/** Kept as a whole: the harness's own configuration and bookkeeping. */
const keptKeys = new Set(["policy", "agent", "ranges", "secret_overrides", "erasure"]);
/** Texts of these names say what something is, not what was said. */
const structuralKeys = new Set([
  "id",
  "object",
  "status",
  "state",
  "role",
  "kind",
  "type",
  "visibility",
  "mode",
  "decision",
  "source",
  "step",
  "first_step",
  "parent_step",
  "given",
  "checkpoint",
  "override_key",
  "override_keys",
  "allow_live",
  "segment",
  "from",
  "to",
  "until",
  "runnable_since",
  "tier",
  "limit",
  "scope",
  "redacted",
  "created_by",
  "decided_by",
  "requested_by",
]);
const idKey = /_(id|ids|at)$/;
const plainCode = /^[A-Za-z][\w.]{0,63}$/;
const plainMimeType = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/;
/** Ids, event ids, times and hashes, under whatever name. */
const structuralText =
  /^([a-z_]{1,40}_[0-9A-HJKMNP-TV-Z]{26}|evt_\d{16}|(sha256:)?[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.]{8,12}Z|\[erased sha256:[0-9a-f]{64}\])$/;

export type Descriptor = { redacted: true; type: string; sha256: string; visibility?: string };

/** Large content is read from the source to tell the hashes of its parts. */
export async function redactContent<T extends object>(value: T, source: BlobSource): Promise<T> {
  // The shape is the same but for texts and content, which have a form for being erased.
  return (await redactObject(value, source)) as T;
}

async function redactObject(value: object, source: BlobSource): Promise<object> {
  if (isContent(value)) return await redactSealed(value, source);
  const isPermission = "object" in value && value.object === "permission_request";
  const isStep = "step" in value && "kind" in value;
  const isArtifact = "object" in value && value.object === "artifact";
  // What a memory says, and what an event says that it says now.
  const isMemory = "content" in value && "provenance" in value;
  const entries: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    if (isPermission && key === "request") entries.push([key, describeOpaque(field)]);
    else if (isArtifact && key === "blob") entries.push([key, null]);
    else if (isMemory && key === "content") entries.push([key, describeOpaque(field)]);
    else if (isStep && key === "name") entries.push([key, field]);
    else entries.push([key, await redactField(key, field, source)]);
  }
  return Object.fromEntries(entries);
}

async function redactField(key: string, value: unknown, source: BlobSource): Promise<unknown> {
  if (keptKeys.has(key) || value === null || value === undefined) return value;
  if (opaqueKeys.has(key)) return describeOpaque(value);
  if (typeof value === "string") return isStructural(key, value) ? value : erasedText(value);
  if (Array.isArray(value)) return await Promise.all(value.map((item) => redactField(key, item, source)));
  if (typeof value === "object") return await redactObject(value, source);
  return value;
}

function isStructural(key: string, text: string): boolean {
  if (structuralKeys.has(key) || idKey.test(key) || structuralText.test(text)) return true;
  if (key === "code") return plainCode.test(text);
  return key === "mime_type" && plainMimeType.test(text);
}

/** Where only a text can stand: the hash of the one that was there. */
function erasedText(text: string): string {
  return `[erased sha256:${sha256Hex(text)}]`;
}

function describeOpaque(value: unknown): unknown {
  if (value === null || value === undefined || isDescriptor(value)) return value;
  const isEmpty = typeof value === "object" && Object.keys(value).length === 0;
  return isEmpty ? value : describe(value);
}

function describe(value: unknown): Descriptor {
  return { redacted: true, type: "json", sha256: sha256Hex(JSON.stringify(value)) };
}

function isDescriptor(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { redacted, type, sha256, ...rest }: Partial<Descriptor> = value;
  const isHash = typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
  return redacted === true && type === "json" && isHash && Object.keys(rest).length === 0;
}

function isContent(value: object): value is Content<unknown> {
  const keys = Object.keys(value).sort().join();
  return (
    keys === "inline" || keys === "blob,bytes" || keys === "blob,bytes,redacted" || keys === "erased,sha256"
  );
}

async function redactSealed(content: Content<unknown>, source: BlobSource): Promise<Content<unknown>> {
  if ("erased" in content) return content;
  const sha256 = contentHash(content).slice("sha256:".length);
  return { erased: describeContent(await readIfThere(content, source), sha256), sha256 };
}

async function readIfThere(content: Content<unknown>, source: BlobSource): Promise<unknown> {
  try {
    return await unseal(content, source);
  } catch (error) {
    if (error instanceof MissingContent) return undefined;
    throw error;
  }
}

/** The parts of a message are told one by one; anything else is one thing. */
function describeContent(value: unknown, sha256: string): JsonValue {
  if (Array.isArray(value) && value.length > 0 && value.every(isPart)) return value.map(describePart);
  return { redacted: true, type: typeof value === "string" ? "text" : "json", sha256 };
}

function isPart(value: unknown): value is { type: string; visibility: string } {
  if (typeof value !== "object" || value === null || !("type" in value) || !("visibility" in value))
    return false;
  return isPartType(value.type) && isVisibility(value.visibility);
}

const partTypes: readonly unknown[] = [
  "text",
  "json",
  "tool_call",
  "tool_result",
  "artifact_ref",
  "file_ref",
  "image_ref",
];

function isPartType(type: unknown): boolean {
  return partTypes.includes(type);
}

function isVisibility(visibility: unknown): boolean {
  return visibility === "public" || visibility === "internal" || visibility === "receipt_only";
}

function describePart(part: { type: string; visibility: string }): JsonValue {
  const { type, visibility } = part;
  return { redacted: true, type, visibility, sha256: sha256Hex(JSON.stringify(part)) };
}
