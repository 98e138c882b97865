/** What agents are promised of models and tools, and what the assistant is. */

import { type Requirement, section } from "./requirements.ts";

export const agentRequirements: readonly Requirement[] = [
  ...section("Bridle", "Models on ctx", {
    "LLM-1": "A model call is the step llm:<label>:<n>, and its answer is recorded before the agent sees it.",
    "LLM-2": "An answer that is recorded is never asked, or paid, for again.",
    "LLM-3": "What may pass is tried again, and the receipt says which model answered.",
    "LLM-4": "Alternatives are asked in their order, and the receipt says why.",
    "LLM-5": "When no model answers, the agent hears the last reason, and the log says what was tried.",
    "LLM-6": "The persona says which models may be asked.",
    "LLM-7": "A request that names no model, temperature or length has the persona's.",
    "LLM-8": "Tools that a model asks for are called as steps, and it hears what they gave.",
    "LLM-9": "What is wrong with a call of a tool is for the model to hear.",
    "LLM-10": "The calls of one request are bounded, and the last is without tools.",
    "LLM-11": "An answer that does not fit its schema is asked for again.",
    "LLM-12": "When it never fits, the agent hears model_output_invalid.",
    "LLM-13": "The receipt says what each model used and cost.",
    "LLM-14": "Code that is repeated and asks something else is found out.",
    "LLM-15": "Secrets are in neither prompts nor records.",
    "LLM-16": "Without a model, the failure says what to set.",
    "LLM-17": "Tools and settings may change between two runs of a task; what was answered holds.",
  }),
  ...section("Bridle", "Tools on ctx", {
    "TUL-1": "A tool that only looks is called in every tier, and once only.",
    "TUL-2": "What the persona does not let a tool do is noted or proposed, and the agent hears why.",
    "TUL-3": "What is approved is done with what was approved.",
    "TUL-4": "What is irreversible is never done twice.",
    "TUL-5": "A persona has the tools that its list allows; those that are off by default only by name.",
    "TUL-6":
      "A tool is given up when its time is over; what it gives later is recorded as late, and nothing else.",
    "TUL-7": "A call of an MCP tool is the step mcp:<server>:<tool>:<n>.",
    "TUL-8": "What an MCP server asks in the middle of a call is asked of the person, once.",
    "TUL-9": "A call that was cut off is repeated only when it only looks.",
    "TUL-10": "A tool that does not exist is answered with those that do.",
  }),
  ...section("Bridle", "The assistant", {
    "AST-1": "The model hears the persona's instructions, the conversation and the question.",
    "AST-2": "Without a model it says what to set.",
    "AST-3": "Tools that the persona names are approved by their risk.",
    "AST-4": "It remembers, asks, and hands work over, in steps like all others.",
    "AST-5": "It has no tool that its persona does not name.",
    "AST-7": "A tool that is not there now keeps it from nothing else.",
    "AST-8": "The first words of a conversation reach it, also when its session begins with them.",
  }),
];
