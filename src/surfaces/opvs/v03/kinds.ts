/** The form of 0.3 in which every object says its `kind`: that of JSON-RPC, of webhooks and of the published schema. */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type {
  PartJson,
  SendMessageResponseJson,
  StreamResponseJson,
  TaskPushNotificationConfigJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defined, filled, member, refused } from "./fields.ts";
import { type Form, readData, readFile, showData, showEvent, showWebhook } from "./form.ts";

export const kinds: Form = {
  parts: "parts",
  webhook: "pushNotificationConfig",
  // What has no role was not said by the client.
  roles: { ROLE_UNSPECIFIED: "agent", ROLE_USER: "user", ROLE_AGENT: "agent" },
  states: {
    TASK_STATE_UNSPECIFIED: "unknown",
    TASK_STATE_SUBMITTED: "submitted",
    TASK_STATE_WORKING: "working",
    TASK_STATE_COMPLETED: "completed",
    TASK_STATE_FAILED: "failed",
    TASK_STATE_CANCELED: "canceled",
    TASK_STATE_INPUT_REQUIRED: "input-required",
    TASK_STATE_REJECTED: "rejected",
    TASK_STATE_AUTH_REQUIRED: "auth-required",
  },
  mark: (kind) => ({ kind }),
  readPart,
  showPart,
};

function readPart(part: JsonObject, field: string): JsonObject {
  const metadata = member(part, "metadata");
  switch (kindOf(part)) {
    case "text":
      return defined({ text: contentOf(part, "text", field), metadata });
    case "file":
      return defined({ ...readFile(contentOf(part, "file", field), `${field}.file`), metadata });
    case "data":
      return readData(contentOf(part, "data", field), metadata);
    default:
      throw refused(`${field}.kind`, 'must be "text", "file" or "data"');
  }
}

/** What a part says it is or, where it says nothing, what it has. */
function kindOf(part: JsonObject): JsonValue | undefined {
  return member(part, "kind") ?? ["text", "file", "data"].find((kind) => Object.hasOwn(part, kind));
}

/** null is a value of data and no value of the others, where the schema refuses it. */
function contentOf(part: JsonObject, kind: string, field: string): JsonValue {
  const content = part[kind];
  if (content === undefined) throw refused(`${field}.${kind}`, "is missing");
  return content;
}

function showPart(part: PartJson): JsonObject {
  const metadata = filled(part.metadata);
  if (part.text !== undefined) return defined({ kind: "text", text: part.text, metadata });
  const names = { name: filled(part.filename), mimeType: filled(part.mediaType) };
  if (part.raw !== undefined) {
    return defined({ kind: "file", file: defined({ bytes: part.raw, ...names }), metadata });
  }
  if (part.url !== undefined) {
    return defined({ kind: "file", file: defined({ uri: part.url, ...names }), metadata });
  }
  return defined({ kind: "data", ...showData(part) });
}

/** An answer, an event of a stream or the body of a webhook: the object itself, in nothing. */
export function showBare(event: StreamResponseJson | SendMessageResponseJson): JsonObject {
  return showEvent(kinds, event).object;
}

export function showConfig(config: TaskPushNotificationConfigJson): JsonObject {
  return defined({ taskId: config.taskId, pushNotificationConfig: showWebhook(config) });
}
