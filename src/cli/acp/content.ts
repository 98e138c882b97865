/** What an editor sends as parts of a message, and the parts of messages as what an editor shows. */

import { type ContentBlock, RequestError } from "@agentclientprotocol/sdk";
import type { Message, MessageInput } from "../../sdk/client/index.ts";
import type { Remote } from "../remote.ts";

/** Files become artifacts of the server; everything else goes along as it is. */
export async function partsOf(
  blocks: readonly ContentBlock[],
  remote: Remote,
  signal: AbortSignal,
): Promise<MessageInput["parts"]> {
  return await Promise.all(blocks.map((block) => partOf(block, remote, signal)));
}

async function partOf(
  block: ContentBlock,
  remote: Remote,
  signal: AbortSignal,
): Promise<MessageInput["parts"][number]> {
  const visibility = "public";
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text, visibility };
    case "resource_link":
      return { type: "file_ref", uri: block.uri, mime_type: block.mimeType ?? unknownType, visibility };
    case "image": {
      const artifact_id = await upload(remote, block.uri ?? "image", block.data, block.mimeType, signal);
      return { type: "image_ref", artifact_id, mime_type: block.mimeType, visibility };
    }
    case "resource": {
      const { resource } = block;
      if ("text" in resource)
        return { type: "text", text: `${resource.uri}\n\n${resource.text}`, visibility };
      const type = resource.mimeType ?? unknownType;
      const artifact_id = await upload(remote, resource.uri, resource.blob, type, signal);
      return { type: "artifact_ref", artifact_id, visibility };
    }
    default:
      throw RequestError.invalidParams({ type: block.type }, `prompts with ${block.type} are not taken`);
  }
}

const unknownType = "application/octet-stream";

async function upload(
  remote: Remote,
  uri: string,
  base64: string,
  type: string,
  signal: AbortSignal,
): Promise<string> {
  const name = uri.split("/").at(-1) || "file";
  return await remote.upload(name, new Blob([Buffer.from(base64, "base64")], { type }), signal);
}

/** Parts that the key may not read are left out. */
export function blocksOf(parts: Message["parts"], url: string): ContentBlock[] {
  return parts.flatMap((part): ContentBlock[] => {
    if ("redacted" in part) return [];
    switch (part.type) {
      case "text":
        return [{ type: "text", text: part.text }];
      case "json":
        return [{ type: "text", text: JSON.stringify(part.value, null, 2) }];
      case "file_ref":
        return [{ type: "resource_link", uri: part.uri, name: nameIn(part.uri), mimeType: part.mime_type }];
      case "artifact_ref":
      case "image_ref":
        return [artifactLink(url, { id: part.artifact_id, name: part.artifact_id })];
      default:
        return [];
    }
  });
}

export function artifactLink(
  url: string,
  { id, name, mime_type = null }: { id: string; name: string | null; mime_type?: string | null },
): ContentBlock {
  const uri = `${url}/v1/artifacts/${id}/content`;
  return { type: "resource_link", uri, name: name ?? id, mimeType: mime_type };
}

function nameIn(uri: string): string {
  return uri.split("/").at(-1) || uri;
}
