/** The public API of the shell, `bridle/shell`. What is not named here may change today. */

export { type Directive, messageText, type RiskTier, riskTiers } from "./directive.ts";
export { ShellError, type ShellErrorCode } from "./errors.ts";
export type { ApprovalContext, Approver, Handler, HandlerContext } from "./execution.ts";
export type { Json, JsonObject } from "./json.ts";
export type { Diagnostic, Progress, ShellOptions } from "./options.ts";
export type { Outcome, OutcomeStatus } from "./outcome.ts";
export { type Approval, approvalOf, type DirectiveKind } from "./profile.ts";
export type { Attachment, EnvironmentState, Intent, ShellIdentity } from "./request.ts";
export { type CapabilityDenial, type Continuation, protocolVersion } from "./response.ts";
export type { RetryPolicy } from "./retry.ts";
export { type EngineFacts, type SendOptions, Shell } from "./shell.ts";
export { parseState, type ShellState } from "./state.ts";
export type { Question, Turn } from "./turn.ts";
