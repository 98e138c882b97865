/**
 * Messages and parts, in both directions. Content has a form in the kernel; what a client said beside it (its own id of
 * the message, file names, metadata of parts) is kept in the message's metadata under one key, to be said again.
 */

import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Message, MessageJson, Part, PartJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import {
  type ClientSaid,
  type ClientSaidPart,
  clientSaid,
  saidKey,
} from "../../../kernel/kinds/client-message.ts";
import type { Part as KernelPart, MessageInput, MessageRecord } from "../../../kernel/kinds/message.ts";
import type { JsonObject, JsonValue } from "../../../store/port.ts";

export const octets = "application/octet-stream";

/** A client's message, as the kernel takes it. */
export function messageInput(message: Message, acceptedOutputModes: readonly string[]): MessageInput {
  const parts = message.parts.map(({ filename, mediaType, metadata }) => ({
    ...(filename === "" ? {} : { filename }),
    ...(mediaType === "" ? {} : { mediaType }),
    ...(metadata === undefined ? {} : { metadata }),
  }));
  const said: ClientSaid = {
    messageId: message.messageId,
    ...(message.extensions.length === 0 ? {} : { extensions: message.extensions }),
    ...(message.referenceTaskIds.length === 0 ? {} : { referenceTaskIds: message.referenceTaskIds }),
    ...(acceptedOutputModes.length === 0 ? {} : { acceptedOutputModes: [...acceptedOutputModes] }),
    ...(parts.every((part) => Object.keys(part).length === 0) ? {} : { parts }),
  };
  return {
    role: "user",
    parts: message.parts.map(kernelPart),
    metadata: { ...message.metadata, [saidKey]: said as JsonObject },
  };
}

function kernelPart({ content, mediaType }: Part): KernelPart {
  const visibility = "public";
  switch (content.case) {
    case "raw": {
      const mime_type = mediaType === "" ? octets : mediaType;
      const uri = `data:${plainType(mime_type)};base64,${Buffer.from(content.value).toString("base64")}`;
      return { type: "file_ref", uri, mime_type, visibility };
    }
    case "url":
      return {
        type: "file_ref",
        uri: content.value,
        mime_type: mediaType === "" ? octets : mediaType,
        visibility,
      };
    case "data":
      return { type: "json", value: toJson(ValueSchema, content.value) as JsonValue, visibility };
    default:
      return { type: "text", text: content.value ?? "", visibility };
  }
}

/** A type may have parameters with commas and quotes in them, after which nobody finds the content in an address. */
function plainType(mediaType: string): string {
  const [type = ""] = mediaType.split(";");
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : octets;
}

export interface Place {
  contextId: string;
  taskId: string;
  publicUrl: string;
}

/** A message of the log. Null when nothing in it is for others to see. */
export function messageJson(
  record: Pick<MessageRecord, "id" | "role" | "metadata">,
  parts: readonly KernelPart[],
  place: Place,
): MessageJson | null {
  const { said, metadata } = clientSaid(record.metadata);
  const shown = parts.flatMap((part, index) =>
    part.visibility === "public" ? [{ ...partJson(part, place), ...restOf(said?.parts?.[index]) }] : [],
  );
  if (shown.length === 0) return null;
  return {
    messageId: said?.messageId ?? record.id,
    contextId: place.contextId,
    taskId: place.taskId,
    role: record.role === "user" ? "ROLE_USER" : "ROLE_AGENT",
    parts: shown,
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(said?.extensions === undefined ? {} : { extensions: said.extensions }),
    ...(said?.referenceTaskIds === undefined ? {} : { referenceTaskIds: said.referenceTaskIds }),
  };
}

function restOf(part: ClientSaidPart | undefined): PartJson {
  if (part === undefined) return {};
  const { metadata, ...rest } = part;
  return metadata === undefined ? rest : { ...rest, metadata: metadata as JsonObject };
}

const dataUri = /^data:([^,;]*)(?:;[^,]*)?;base64,/;

function partJson(part: KernelPart, { publicUrl }: Pick<Place, "publicUrl">): PartJson {
  switch (part.type) {
    case "text":
      return { text: part.text };
    case "json":
      return { data: part.value };
    case "file_ref": {
      const inline = dataUri.exec(part.uri);
      if (inline === null) return { url: part.uri, mediaType: part.mime_type };
      return { raw: part.uri.slice(inline[0].length), mediaType: part.mime_type };
    }
    case "artifact_ref":
      return { url: contentUrl(publicUrl, part.artifact_id) };
    case "image_ref":
      return { url: contentUrl(publicUrl, part.artifact_id), mediaType: part.mime_type };
    case "tool_call":
    case "tool_result": {
      const { visibility: _, ...data } = part;
      return { data, mediaType: "application/json" };
    }
  }
}

export function contentUrl(publicUrl: string, artifactId: string): string {
  return `${publicUrl}/v1/artifacts/${artifactId}/content`;
}
