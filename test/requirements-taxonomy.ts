/** What the log says of tools, traces and time, beyond the shape of an event: the taxonomy of the Harn Agents Protocol. */

import { type Requirement, section } from "./requirements.ts";

export const taxonomyRequirements: readonly Requirement[] = [
  ...section("Core", "Event taxonomy", {
    "TAX-1": "Every event kind of the protocol is produced, or the conformance page says why it is not.",
    "TAX-2":
      "A tool call is agent.tool_use (agent.mcp_tool_use for MCP), tool.requested, tool.completed or tool.failed, and agent.tool_result, with one tool_call_id; a call that needs approval has tool.approval_required in between.",
    "TAX-3": "What a tool was given and what it gave are shown to those who may read internal content only.",
    "TAX-4": "A tool call that is not carried out has a result marked as simulated, and no tool.completed.",
    "TAX-5":
      "Events of a task have trace_id, span_id and parent_span_id; those about one step have one span_id, and the trace is the caller's.",
    "TAX-6": "Event lists and streams are narrowed by kind with `event`; an unknown kind is refused.",
    "TAX-7": "Every block of an event stream has id, event and data, errors too.",
    "TAX-9":
      "Every optional member of every request body is refused with a clear error when its value is of the wrong kind.",
    "TAX-10": "Every optional member that a resource is created with is found in the resource.",
    "TAX-11": "What a server of this kind may lack is refused by name, and never dropped.",
    "TAX-12":
      "A paused session holds the tasks that it is given until it is resumed, also over a restart; one with expires_at is closed then; both are shown.",
    "TAX-13":
      "What a workspace cannot do no task does there, and a skill that needs approval gets it, whatever the persona says.",
    "TAX-17":
      "A tool call is approved with another input: the tool gets that one, and both are in the log and in the evidence of the receipt.",
    "TAX-18":
      "Every optional member of every request body, sent with a valid value, is found in the answer or in its effect.",
    "TAX-16":
      "An artifact says which branch it was made on; an outcome says hand-offs, cost and metrics as its receipt does.",
    "TAX-15":
      "A message that refers to an artifact is artifact.linked; the erasure of its session is artifact.redacted.",
    "TAX-14":
      "The server's card has the signed A2A card of its default agent, all that is served, and how long what ended is kept.",
    "TAX-8": "Every error code of the protocol is produced, or the conformance page says why it is not.",
  }),
];
