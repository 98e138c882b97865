/** The messages of OpenHarness v1.0.0-draft as the protocol has them, stated for tests: not the engine's own reading. */

import { Type } from "typebox";
import { Compile } from "typebox/compile";

const semver = Type.String({
  pattern: String.raw`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`,
});
const id = Type.String({ minLength: 1 });
const anything = Type.Record(Type.String(), Type.Unknown());

const directive = Type.Object({
  action_type: id,
  priority: Type.Optional(Type.Enum(["low", "normal", "high", "critical"])),
  execution: Type.Optional(Type.Enum(["sequential", "parallel"])),
  risk_tier: Type.Optional(Type.Enum(["safe", "caution", "dangerous"])),
  requires_user_approval: Type.Optional(Type.Boolean()),
  deadline_ms: Type.Optional(Type.Integer({ minimum: 0 })),
  payload: Type.Optional(anything),
  extensions: Type.Optional(anything),
});

export const responseMessage = Compile(
  Type.Object({
    protocol_version: semver,
    request_id: Type.Optional(id),
    correlation_id: Type.Optional(id),
    supported_protocol_versions: Type.Optional(Type.Array(semver)),
    supported_capabilities: Type.Optional(anything),
    capability_denials: Type.Optional(
      Type.Array(
        Type.Object({
          capability: id,
          code: Type.Optional(Type.String()),
          message: Type.Optional(Type.String()),
        }),
      ),
    ),
    response: Type.Object({
      status: Type.Enum(["success", "error"]),
      engine_latency_ms: Type.Optional(Type.Number({ minimum: 0 })),
      action_directives: Type.Optional(Type.Array(directive)),
      error: Type.Optional(
        Type.Object({
          code: id,
          message: Type.Optional(Type.String()),
          retryable: Type.Optional(Type.Boolean()),
          details: Type.Optional(anything),
        }),
      ),
    }),
  }),
);

const text = Type.Optional(Type.String());

export const requestMessage = Compile(
  Type.Object({
    protocol_version: semver,
    request_id: Type.Optional(id),
    correlation_id: Type.Optional(id),
    capabilities: Type.Optional(anything),
    request: Type.Object({
      auth: Type.Optional(Type.Object({ tenant_id: text, credential_ref: text, session_id: text })),
      context: Type.Optional(
        Type.Object({
          session_id: text,
          conversation_id: text,
          // The draft's schema has a string here; its text, "natural-language or structured intent".
          user_intent: Type.Optional(Type.Union([Type.String(), anything])),
          task_hint: Type.Optional(Type.Object({ sop_id: text, plugin_id: text, business_key: text })),
          continuation: Type.Optional(Type.Object({ run_id: text, sop_id: text, continuation_token: text })),
          environment_state: Type.Optional(
            Type.Object({
              privacy_tier: Type.Optional(Type.Enum(["public", "restricted", "secret"])),
              os: text,
              active_window: text,
              screen_hash: text,
            }),
          ),
          attachments: Type.Optional(
            Type.Array(
              Type.Object({
                ref_id: text,
                uri: text,
                asset_id: text,
                mime_type: text,
                filename: text,
                size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
              }),
            ),
          ),
          shell: Type.Optional(
            Type.Object({ shell_kind: Type.Optional(id), shell_version: text, locale: text, timezone: text }),
          ),
          extensions: Type.Optional(anything),
        }),
      ),
      extensions: Type.Optional(anything),
    }),
  }),
);
