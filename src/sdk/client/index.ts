/** `bridle/client`: see docs/reference/client.md. */

export type { AdminKeys } from "./admin-key.ts";
export type { Agents, Personas } from "./agents.ts";
export type { ApiKeys } from "./api-keys.ts";
export type { Approvals, ListApprovals } from "./approvals.ts";
export type { Artifacts, Content, UploadArtifact } from "./artifacts.ts";
export type { Audit, ListAudit } from "./audit.ts";
export { type BridleClient, createClient, type EventsOptions } from "./client.ts";
export {
  BridleError,
  Conflict,
  ConnectionFailed,
  CursorExpired,
  DeadlineExceeded,
  IdempotencyKeyReused,
  InvalidRequest,
  InvalidState,
  NotFound,
  PayloadTooLarge,
  PermissionDenied,
  PolicyViolation,
  RateLimited,
  ServerError,
  Unauthenticated,
  Unavailable,
  UnreadableAnswer,
} from "./errors.ts";
export type { FollowOptions } from "./follow.ts";
export type { Lines } from "./json-lines.ts";
export type { Listed } from "./lists.ts";
export type { HostCall, HostHandler } from "./live/hosting.ts";
export type { ConnectSession, LiveSession, SayOptions } from "./live/live-session.ts";
export type { Question } from "./live/questions.ts";
export type { Said } from "./messages.ts";
export type { Quotas } from "./quotas.ts";
export type { ListReceipts, ReceiptSubject, Receipts, VerifyReceipt } from "./receipts.ts";
export type { Changeable, Creatable, InWorkspace, Readable } from "./resources.ts";
export type { CreateSession, ForkSession, ListSessions, Sessions } from "./sessions.ts";
export { type OverrideKind, overrideKindOf, type StepOutput, StepOutputs } from "./step-outputs.ts";
export { isFinal, type ListTasks, type SubmitTask, type Tasks, type WaitOptions } from "./tasks.ts";
export type { ClientOptions } from "./transport.ts";
export type * from "./types.ts";
export type { Vaults } from "./vaults.ts";
export type { Connectors, Workspaces } from "./workspaces.ts";
