/** What `bridle acp` promises to editors. */

import { type Requirement, section } from "./requirements.ts";

export const acpRequirements: readonly Requirement[] = [
  ...section("Bridle", "Agents for editors", {
    "ACP-1": "An editor learns the version and what the agent can.",
    "ACP-2": "A session of the editor is one of the server, for the chosen agent, and knows its directory.",
    "ACP-3": "A session that is loaded is told again, and taken up where it was.",
    "ACP-4": "What a task says, does and reports is shown as messages, tool calls and thoughts.",
    "ACP-5": "Links, files and images of a prompt reach the task.",
    "ACP-6": "A failure is an error with its sentence; what an agent will not do is a refusal.",
    "ACP-7": "A cancellation cancels the task. A session has one prompt at a time.",
    "ACP-8": "A question ends the turn, and the next prompt is the answer.",
    "ACP-9": "An editor with forms shows the question's form instead.",
    "ACP-10": "An approval is asked for as a permission, to be allowed once or rejected.",
    "ACP-11": "What is decided elsewhere is no longer asked.",
    "ACP-12": "Where only signatures count, the editor is told where to give one.",
    "ACP-13": "A stream that breaks is taken up again; a server that is away is an error in words.",
    "ACP-14": "An editor that quits ends the agent, and no task.",
    "ACP-15": "Standard output has the protocol and nothing else.",
  }),
];
