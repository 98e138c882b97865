/** The public API. What is not named here may change today. */

export { Type } from "typebox";
export { type ApprovalProof, verifyApprovalProof } from "./approvals/proof.ts";
export type { ServerConfig } from "./config.ts";
export { HarnessError } from "./kernel/errors.ts";
export {
  type BridleConfig,
  defineConfig,
  type ModelSettings,
  type PersonaSettings,
  type ProviderSettings,
} from "./project/config.ts";
export {
  type Agent,
  type AgentCard,
  type AgentContext,
  type AgentDefinition,
  type AgentMemory,
  type AgentShell,
  type DirectiveOutcome,
  defineAgent,
  type HandoffRequest,
  type HandoffResult,
  type MemoryFound,
  type MemoryScope,
  type ShellDirective,
  type ShellEnvironment,
} from "./runtime/agent.ts";
export { AgentFailure, ApprovalDenied, ApprovalRefused, Rejected, WaitExpired } from "./runtime/failures.ts";
export { replayFixture } from "./runtime/history.ts";
export { type Server, startServer } from "./server.ts";
