/** What Bridle promises about the MCP servers that it calls. */

import { type Requirement, section } from "./requirements.ts";

export const mcpRequirements: readonly Requirement[] = [
  ...section("Bridle", "MCP: Servers and tools", {
    "MCP-1": "Settings that cannot be meant are refused by name, without repeating what may be secret.",
    "MCP-2": "Tools are listed with their schemas and effects; the settings know better than annotations.",
    "MCP-3": "All pages of a list are read, up to a limit; it is kept until the server says that it changed.",
    "MCP-4": "The SDK is loaded when a server is first used.",
  }),
  ...section("Bridle", "MCP: Calls", {
    "MCP-5": "A result is the structured content, or the text, or the content blocks, up to a limit.",
    "MCP-6":
      "What a tool calls a failure is one; servers and tools that are not there are said to be unknown.",
    "MCP-7": "A call that takes too long is cancelled at the server, and its outcome is unknown.",
    "MCP-8": "A call whose signal is aborted is cancelled at the server and ends at once, with the reason.",
    "MCP-9": "Progress is told; the idempotency key is sent.",
  }),
  ...section("Bridle", "MCP: Questions", {
    "MCP-10": "A question goes to the call that it belongs to, whose time stands still meanwhile.",
    "MCP-11": "Where a server does not say whose its question is, no call gets that of another.",
  }),
  ...section("Bridle", "MCP: Connections", {
    "MCP-12": "A connection that breaks in the middle of a call is told as that, and made again.",
    "MCP-13": "A session that the server no longer knows is opened again, and the call is made once.",
    "MCP-14": "A server that cannot be reached is told as that, in bounded time.",
    "MCP-15":
      "A process gets a minimal environment; what it writes to standard error is logged without secrets.",
    "MCP-16": "Closing leaves no process and no session behind.",
    "MCP-17": "Headers go with every request, and into no error.",
  }),
];
