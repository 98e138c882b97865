/** The public API. What is not named here may change today. */

export { Type } from "typebox";
export { Value } from "typebox/value";
export { type ApprovalProof, verifyApprovalProof } from "./harp/core/proof.ts";
export { HarnessError } from "./kernel/core/errors.ts";
export { createMcp } from "./mcp-client/access.ts";
export type { McpAccess, McpServerSettings } from "./mcp-client/mcp.ts";
export type { ModelMessage } from "./models/messages.ts";
export {
  ModelError,
  type ModelErrorCode,
  type ModelSource,
  type OpenModel,
  type Price,
} from "./models/model.ts";
export { createModels } from "./models/providers.ts";
export type { ModelSettings, ProviderSettings } from "./models/settings.ts";
export { type BridleConfig, defineConfig, type PersonaSettings } from "./project/config.ts";
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
  type ReceivedMessage,
  type ReceivedPart,
  type SayOptions,
  type ShellDirective,
  type ShellEnvironment,
  type StepContext,
} from "./runtime/agents/agent.ts";
export type {
  AgentModel,
  AgentPersona,
  ModelReply,
  ModelRequest,
  StreamOptions,
  StructuredReply,
  StructuredRequest,
} from "./runtime/agents/agent-model.ts";
export {
  AgentFailure,
  ApprovalDenied,
  ApprovalRefused,
  NonRetryableError,
  Rejected,
  StepTimeout,
  WaitExpired,
} from "./runtime/run/failures.ts";
export { replayFixture } from "./runtime/run/history.ts";
export type { ServerConfig } from "./server/config.ts";
export { type Server, startServer } from "./server/server.ts";
export { builtInTools, type CommandOptions, commandTool } from "./tools/builtin/index.ts";
export type { CircuitBreakerOptions } from "./tools/circuit-breaker.ts";
export { defineContextTool, defineTool } from "./tools/define.ts";
export type { Backoff, RetryOptions } from "./tools/retry.ts";
export type { Schema, StandardSchema } from "./tools/schema.ts";
export type { AnyTool, ContextTool, ToolContext, ToolDefinition, ToolEffect } from "./tools/tool.ts";
