/** The public API. What is not named here may change today. */

export { Type } from "typebox";
export { HarnessError } from "./kernel/errors.ts";
export { type Agent, type AgentContext, defineAgent } from "./runtime/agent.ts";
export { AgentFailure, ApprovalDenied, Rejected, WaitExpired } from "./runtime/failures.ts";
export { replayFixture } from "./runtime/history.ts";
export { type Server, type ServerConfig, startServer } from "./server.ts";
