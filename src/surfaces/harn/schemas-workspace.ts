/** Workspaces and artifacts on the wire. */

import { Type } from "typebox";
import { Envelope, Id, LongName, Metadata, Name, Nullable, Visibility } from "./schema-pieces.ts";
import { Unsupported } from "./unsupported.ts";

const ArtifactKindSchema = Type.Enum([
  "file",
  "patch",
  "image",
  "log",
  "diff",
  "receipt",
  "snapshot",
  "dataset",
  "other",
]);
const Sha256 = Type.String({ pattern: "^[a-fA-F0-9]{64}$" });
export const Artifact = Envelope("artifact", {
  kind: ArtifactKindSchema,
  name: Nullable(Type.String()),
  mime_type: Type.String(),
  uri: Nullable(Type.String({ format: "uri-reference" })),
  visibility: Visibility,
  sha256: Nullable(Sha256),
  bytes: Nullable(Type.Integer({ minimum: 0 })),
  complete: Type.Boolean(),
  description: Type.Optional(Type.String()),
  extensions: Type.Optional(Type.Array(Type.String())),
  workspace_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  branch_id: Nullable(Type.String({ description: "The branch of its task or session; null without one." })),
  receipt_id: Nullable(Type.String()),
});
export const RegisterArtifactRequest = Type.Object({
  kind: ArtifactKindSchema,
  mime_type: Name,
  uri: Type.Optional(Nullable(Type.String({ maxLength: 2000 }))),
  visibility: Visibility,
  sha256: Type.Optional(Nullable(Sha256)),
  workspace_id: Type.Optional(Nullable(Id)),
  session_id: Type.Optional(Nullable(Id)),
  task_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
});
export const Workspace = Envelope("workspace", {
  name: Type.String(),
  root: Type.String(),
  default_branch_id: Nullable(Type.String()),
  tenant_id: Nullable(Type.String()),
  capabilities: Type.Array(Type.String()),
  quota_id: Nullable(Type.String()),
  trimmed_through_event_id: Type.Optional(Type.String()),
});
/** What workspaces of other servers have; here it is the server's, and not a workspace's own. */
const foreignToWorkspaces = {
  host: Unsupported("Files are on the server."),
  repository: Unsupported("Set root to a directory that has the repository."),
  connectors: Unsupported("Create connectors with workspace_id."),
  network_policy: Unsupported("Restrict tools and hosts by the persona, addresses by --blocked-ranges."),
  sandbox_backend: Unsupported("Programs run in the sandbox of the server."),
  image: Unsupported("Programs run in the sandbox of the server."),
  packages: Unsupported("Install packages on the server."),
};
export const CreateWorkspaceRequest = Type.Object({
  name: Name,
  root: LongName,
  capabilities: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
  quota_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
  ...foreignToWorkspaces,
});
export const UpdateWorkspaceRequest = Type.Object({
  name: Type.Optional(Name),
  capabilities: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
  quota_id: Type.Optional(Nullable(Id)),
  metadata: Type.Optional(Metadata),
  ...foreignToWorkspaces,
});
