/** Artifacts as the protocol shows them: their content in parts, or an address where it is too much for that. */

import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import type { ArtifactJson, PartJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { type Content, unsealShown } from "../../../kernel/core/content.ts";
import { countValues, valuesMax } from "../../../kernel/core/json-values.ts";
import type { ArtifactRecord } from "../../../kernel/kinds/artifact.ts";
import type { TenantStore } from "../../../store/port.ts";
import { contentUrl } from "./parts.ts";

/** More than this is fetched by those who want it: readers of streams have limits of their own. */
const inlineBytesMax = 1024 * 1024;
/** What is inlined in one answer, all together. */
const answerBytesMax = 4 * 1024 * 1024;

/** How much more content an answer takes; making messages of many values takes long. */
export class InlineRoom {
  #bytes = answerBytesMax;
  #values = valuesMax;

  hasBytes(bytes: number): boolean {
    return bytes <= Math.min(this.#bytes, inlineBytesMax);
  }

  /** Whether this content still goes in; then there is less room. */
  takes(content: Uint8Array, isJson: boolean): boolean {
    const values = isJson ? countValues(content) : 1;
    if (values > this.#values) return false;
    this.#values -= values;
    this.#bytes -= content.length;
    return true;
  }
}

/** An artifact, and what has arrived of it while it is still being written. */
export interface WrittenArtifact {
  record: ArtifactRecord;
  chunks: Content<string>[];
}

/** Null for what there is nothing to show of yet. */
export async function artifactJson(
  { record, chunks }: WrittenArtifact,
  store: TenantStore,
  publicUrl: string,
  room = new InlineRoom(),
): Promise<ArtifactJson | null> {
  if (record.complete) return describe(record, [await contentPart(record, store, publicUrl, room)]);
  if (chunks.length === 0) return null;
  const texts = await Promise.all(chunks.map((chunk) => textOf(chunk, store)));
  return describe(record, [{ text: texts.join(""), mediaType: record.mime_type }]);
}

/** A piece of an artifact. Only the first has to say what it is a piece of. */
export async function chunkJson(
  record: ArtifactRecord,
  chunk: Content<string>,
  store: TenantStore,
): Promise<ArtifactJson> {
  return describe(record, [{ text: await textOf(chunk, store), mediaType: record.mime_type }]);
}

function describe(record: ArtifactRecord, parts: PartJson[]): ArtifactJson {
  const { id, name, metadata, description, extensions } = record;
  return {
    artifactId: id,
    ...(name === null ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(extensions === undefined ? {} : { extensions }),
    parts,
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

async function textOf(chunk: Content<string>, store: TenantStore): Promise<string> {
  const found = await unsealShown(chunk, store);
  return "value" in found ? found.value : "";
}

async function contentPart(
  record: ArtifactRecord,
  store: TenantStore,
  publicUrl: string,
  room: InlineRoom,
): Promise<PartJson> {
  const { id, uri, blob, bytes, mime_type: mediaType, name } = record;
  const named = { ...(name === null ? {} : { filename: name }), mediaType };
  if (blob === null) return { url: uri ?? contentUrl(publicUrl, id), ...named };
  const elsewhere = { url: contentUrl(publicUrl, id), ...named };
  if (!room.hasBytes(bytes ?? 0)) return elsewhere;
  const content = await store.blob(blob);
  const isJson = mediaType === "application/json";
  if (content === undefined || !room.takes(content, isJson)) return elsewhere;
  const buffer = Buffer.from(content);
  if (record.is_file === true) return { raw: buffer.toString("base64"), ...named };
  if (isJson) {
    const data = parsed(buffer);
    if (data !== undefined) return { data, ...named };
  }
  if (mediaType.startsWith("text/") && isUtf8(buffer)) return { text: buffer.toString("utf8"), ...named };
  return { raw: buffer.toString("base64"), ...named };
}

function parsed(buffer: Buffer): JsonValue | undefined {
  try {
    return JSON.parse(buffer.toString("utf8"));
  } catch {
    return undefined;
  }
}
