/**
 * The messages of OpenHarness v1.0.0-draft, and what Bridle's profile adds to them. Members that are not named here are
 * ignored, at every level (§4).
 */

import { type Static, Type } from "typebox";
import { privacyTiers } from "../../kernel/kinds/shell-link.ts";
import { outcomeStatuses } from "../../kernel/openharness/accept-turn.ts";
import { openHarnessVersion } from "../addresses.ts";

export const protocolVersion = openHarnessVersion;
export const supportedVersions = [protocolVersion];
/** The key of everything that is ours under `extensions`. */
export const extensionKey = "com.bridle";

const semver = String.raw`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`;
const idCharsMax = 255;
/** Directives of one run that can be open at once, and then some. */
const broughtMax = 100;
const attachmentsMax = 100;
const textCharsMax = 2000;

const Id = Type.String({ minLength: 1, maxLength: idCharsMax });
const Name = Type.String({ maxLength: idCharsMax });
/** The id of a directive holds the name of its type. */
const DirectiveId = Type.String({ minLength: 1, maxLength: 2 * idCharsMax });
const Reason = Type.Optional(Type.Union([Type.String({ maxLength: textCharsMax }), Type.Null()]));
const Free = Type.Record(Type.String(), Type.Unknown());

/** What is looked at first: a message of another version may look different in everything else. */
export const Version = Type.Object({ protocol_version: Type.String({ pattern: semver }) });

/** What the shell did, under `continuation.extensions["com.bridle"]`. */
const TurnInput = Type.Object({
  outcomes: Type.Optional(
    Type.Array(
      Type.Object({
        directive_id: DirectiveId,
        status: Type.Enum(outcomeStatuses),
        result: Type.Optional(Type.Unknown()),
        error: Type.Optional(
          Type.Object({
            code: Type.String({ minLength: 1, maxLength: idCharsMax }),
            message: Type.Optional(Type.String({ maxLength: textCharsMax })),
          }),
        ),
      }),
      { maxItems: broughtMax },
    ),
  ),
  approvals: Type.Optional(
    Type.Array(Type.Object({ request_id: Id, artifact_hash: Id, approved: Type.Boolean(), reason: Reason }), {
      maxItems: broughtMax,
    }),
  ),
  answers: Type.Optional(
    Type.Array(Type.Object({ question_id: DirectiveId, value: Type.Unknown() }), { maxItems: broughtMax }),
  ),
  cancel: Type.Optional(Type.Object({ reason: Reason })),
});

const Continuation = Type.Object({
  run_id: Type.Optional(Name),
  sop_id: Type.Optional(Name),
  continuation_token: Type.Optional(Name),
  extensions: Type.Optional(Type.Object({ [extensionKey]: Type.Optional(TurnInput) })),
});

const AttachmentRef = Type.Object({
  ref_id: Type.Optional(Name),
  uri: Type.Optional(Type.String()),
  asset_id: Type.Optional(Name),
  mime_type: Type.Optional(Name),
  filename: Type.Optional(Name),
  size_bytes: Type.Optional(Type.Integer({ minimum: 0 })),
});

const ShellIdentity = Type.Object({
  shell_kind: Type.Optional(Id),
  shell_version: Type.Optional(Name),
  locale: Type.Optional(Name),
  timezone: Type.Optional(Name),
});

export const RequestMessage = Type.Object({
  protocol_version: Type.String(),
  request_id: Type.Optional(Id),
  correlation_id: Type.Optional(Id),
  capabilities: Type.Optional(Free),
  request: Type.Object({
    auth: Type.Optional(
      Type.Object({
        tenant_id: Type.Optional(Name),
        credential_ref: Type.Optional(Type.String()),
        session_id: Type.Optional(Name),
      }),
    ),
    context: Type.Optional(
      Type.Object({
        session_id: Type.Optional(Name),
        conversation_id: Type.Optional(Name),
        user_intent: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Free])),
        task_hint: Type.Optional(
          Type.Object({
            sop_id: Type.Optional(Name),
            plugin_id: Type.Optional(Name),
            business_key: Type.Optional(Type.String()),
          }),
        ),
        continuation: Type.Optional(Continuation),
        environment_state: Type.Optional(
          Type.Object({ privacy_tier: Type.Optional(Type.Enum(privacyTiers)) }),
        ),
        attachments: Type.Optional(Type.Array(AttachmentRef, { maxItems: attachmentsMax })),
        shell: Type.Optional(ShellIdentity),
        extensions: Type.Optional(Free),
      }),
    ),
    extensions: Type.Optional(Free),
  }),
});
export type RequestMessage = Static<typeof RequestMessage>;
export type RequestContext = NonNullable<RequestMessage["request"]["context"]>;

export const ActionDirective = Type.Object({
  action_type: Type.String({ minLength: 1 }),
  priority: Type.Optional(Type.Enum(["low", "normal", "high", "critical"])),
  execution: Type.Optional(Type.Enum(["sequential", "parallel"])),
  risk_tier: Type.Optional(Type.Enum(["safe", "caution", "dangerous"])),
  requires_user_approval: Type.Optional(Type.Boolean()),
  deadline_ms: Type.Optional(Type.Integer({ minimum: 0 })),
  payload: Type.Optional(Free),
  extensions: Type.Optional(Free),
});
export type ActionDirective = Static<typeof ActionDirective>;

export const ErrorObject = Type.Object({
  code: Type.String({ minLength: 1 }),
  message: Type.String(),
  retryable: Type.Boolean(),
  details: Type.Optional(Free),
});
export type ErrorObject = Static<typeof ErrorObject>;

export const ResponseMessage = Type.Object({
  protocol_version: Type.Literal(protocolVersion),
  request_id: Type.Optional(Type.String({ minLength: 1 })),
  correlation_id: Type.Optional(Type.String({ minLength: 1 })),
  supported_protocol_versions: Type.Array(Type.String({ pattern: semver })),
  supported_capabilities: Free,
  capability_denials: Type.Array(
    Type.Object({ capability: Type.String({ minLength: 1 }), code: Type.String(), message: Type.String() }),
  ),
  response: Type.Object({
    status: Type.Enum(["success", "error"]),
    engine_latency_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    action_directives: Type.Optional(Type.Array(ActionDirective)),
    error: Type.Optional(ErrorObject),
    continuation: Type.Optional(
      Type.Object({
        run_id: Type.String(),
        sop_id: Type.String(),
        continuation_token: Type.String(),
        expires_at: Type.String(),
      }),
    ),
    extensions: Type.Optional(Type.Object({ [extensionKey]: Free })),
  }),
});
export type ResponseMessage = Static<typeof ResponseMessage>;
