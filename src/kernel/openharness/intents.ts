/** What a person said at a shell, as a message: the words or the structure, and what is attached by reference. */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { type MessageInput, type Part, textPart } from "../kinds/message.ts";

/** A reference: to an artifact that was uploaded before, or to an address that only the agent may look at. */
export interface ShellAttachment {
  target: { artifactId: string } | { uri: string };
  mimeType: string | null;
  /** What else the shell says of it: its name, its size. */
  about: JsonObject;
}

/** What the message's metadata have of its attachments, beside the parts. */
const attachmentsKey = "com.bridle.attachments";
const octets = "application/octet-stream";

export class AttachmentUnavailable extends HarnessError {
  constructor(index: number) {
    super("resource_not_found", "There is no such attachment; upload it first.", {
      param: `request.context.attachments[${index}]`,
    });
  }
}

export function messageOf(
  unit: Unit,
  said: JsonValue | null,
  attachments: readonly ShellAttachment[],
): MessageInput {
  const parts: Part[] = said === null ? [] : [partOf(said)];
  for (const [index, attachment] of attachments.entries())
    parts.push(attachmentPart(unit, attachment, index));
  const about = attachments.map(({ target, about }) => ({ ...target, ...about }));
  return {
    role: "user",
    parts,
    metadata: about.length === 0 ? {} : { [attachmentsKey]: about },
  };
}

function partOf(said: JsonValue): Part {
  return typeof said === "string" ? textPart(said) : { type: "json", value: said, visibility: "public" };
}

function attachmentPart(unit: Unit, { target, mimeType }: ShellAttachment, index: number): Part {
  if ("uri" in target) {
    return { type: "file_ref", uri: target.uri, mime_type: mimeType ?? octets, visibility: "public" };
  }
  const artifact = unit.find("artifact", target.artifactId);
  if (artifact === undefined) throw new AttachmentUnavailable(index);
  return { type: "artifact_ref", artifact_id: artifact.id, visibility: "public" };
}
