/** The bodies about vaults, workspace files and uploads; like `schemas.ts`, for validation, types and `/openapi.json`. */

import { Type } from "typebox";
import { pathCharsMax } from "../../files/safe-path.ts";
import { Envelope, JsonObject, Nullable } from "./schema-pieces.ts";
import { RegisterArtifactRequest } from "./schemas-workspace.ts";

const Timestamp = Type.String({ format: "date-time" });
const Capabilities = Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 50 });
/** No part of it begins with a dot. */
const pathPattern = "^\\w[\\w.-]*(/\\w[\\w.-]*)*$";
const Path = Type.String({ maxLength: 500, pattern: pathPattern });
const HashicorpSource = Type.Object(
  {
    address: Type.String({ minLength: 1, maxLength: 2000 }),
    mount: Type.Optional(Path),
    path: Path,
    namespace: Type.Optional(Path),
  },
  { additionalProperties: false },
);
const Credential = Type.String({ minLength: 1, maxLength: 2000 });
const HashicorpLogin = Type.Union([
  Type.Object({ token: Credential }, { additionalProperties: false }),
  Type.Object({ role_id: Credential, secret_id: Credential }, { additionalProperties: false }),
]);

export const Vault = Envelope("vault", {
  workspace_id: Nullable(Type.String()),
  provider: Type.String(),
  capabilities: Type.Array(Type.String()),
  source: Nullable(HashicorpSource),
  secret_count: Type.Integer({ minimum: 0 }),
  data_key_version: Type.Integer({ minimum: 1 }),
  master_key_id: Type.String(),
});
export const CreateVaultRequest = Type.Object({
  workspace_id: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200 }))),
  provider: Type.String({ maxLength: 200 }),
  capabilities: Capabilities,
  source: Type.Optional(HashicorpSource),
  /** Kept sealed, and in no answer. */
  login: Type.Optional(HashicorpLogin),
  metadata: Type.Optional(JsonObject),
});
/** What is known of a secret by those who may not know it. */
export const VaultSecret = Type.Object({
  object: Type.Literal("vault_secret"),
  vault_id: Type.String(),
  name: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  created_at: Timestamp,
  updated_at: Timestamp,
  metadata: JsonObject,
});
export const SetSecretRequest = Type.Object({ value: Type.String(), metadata: Type.Optional(JsonObject) });
export const MasterKeyRotation = Type.Object({
  object: Type.Literal("master_key_rotation"),
  master_key_id: Type.String(),
  rewrapped: Type.Integer({ minimum: 0 }),
  locked: Type.Array(Type.String()),
});

const FilePath = Type.Optional(Type.String({ maxLength: pathCharsMax }));
export const FilePathQuery = Type.Object({ path: FilePath });
export const WriteWorkspaceFileRequest = Type.Object({
  path: FilePath,
  content: Type.String(),
  metadata: Type.Optional(JsonObject),
});
export const WorkspaceFile = Type.Object({
  object: Type.Literal("file"),
  workspace_id: Type.String(),
  path: Type.String(),
  encoding: Type.Literal("utf-8"),
  content: Type.Optional(Type.String()),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String(),
});
const WorkspaceFileListing = Type.Object({
  object: Type.Literal("file_listing"),
  workspace_id: Type.String(),
  path: Type.String(),
  entries: Type.Array(
    Type.Object({
      name: Type.String(),
      path: Type.String(),
      kind: Type.Enum(["file", "directory"]),
      size: Type.Integer({ minimum: 0 }),
    }),
  ),
});
export const WorkspaceFileOrListing = Type.Union([WorkspaceFile, WorkspaceFileListing]);

const { kind, visibility } = RegisterArtifactRequest.properties;
const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 200 }));
export const UploadArtifactQuery = Type.Object({
  kind: Type.Optional(kind),
  visibility: Type.Optional(visibility),
  name: Filter,
  workspace_id: Filter,
  session_id: Filter,
  task_id: Filter,
  sha256: Type.Optional(Type.String({ pattern: "^[a-fA-F0-9]{64}$" })),
});
/** The content itself: a stream of bytes, whatever its media type. */
export const ArtifactBytes = Type.Unknown();
