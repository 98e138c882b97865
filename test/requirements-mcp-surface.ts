/** What Bridle promises to clients of the Model Context Protocol, for which its agents are tools. */

import { type Requirement, section } from "./requirements.ts";

export const mcpSurfaceRequirements: readonly Requirement[] = [
  ...section("Bridle", "Agents as MCP tools", {
    "MCS-1":
      "Every agent that the caller may use is a tool with the schemas of its first skill, beside those for tasks.",
    "MCS-2":
      "A call is a task, in a session that can be gone on with; the result names task, session and receipt.",
    "MCS-3": "Results that are objects are structured; arguments that do not fit are an error that says why.",
    "MCS-4": "A task that fails is a result with isError and the sentence of the failure.",
    "MCS-5": "What a task asks is put to the person at the client as a form, where the client has forms.",
    "MCS-6": "Elsewhere the result says what the task waits for, and answer_task answers it.",
    "MCS-7": "No tool gives an approval: the result says that a person has to decide, and where.",
    "MCS-8": "Who gave a progress token is told what the task says while it runs.",
    "MCS-9": "No call waits longer than clients do; get_task has the result later.",
    "MCS-10": "A call under an idempotency key can be repeated safely.",
    "MCS-11": "A cancellation, in the way of the revision that is spoken, cancels the task.",
    "MCS-12": "A lost connection that is no cancellation leaves the task alone.",
    "MCS-13": "cancel_task cancels a task.",
    "MCS-14": "Without valid credentials everything is 401, with the address of the metadata of RFC 9728.",
    "MCS-15": "Pages of other origins are refused unless they were allowed.",
    "MCS-16": "A caller has the tools that its scopes allow, for the tasks that it may see.",
    "MCS-17": "What is no message is refused in the words of JSON-RPC.",
    "MCS-18": "Calls under way when the server is killed end as tasks, and are found by id or by key.",
    "MCS-19": "Credentials that are taken back end what they opened, and no task.",
    "MCS-20": "signal_task sends a signal to a task, once for an idempotency key.",
  }),
];
