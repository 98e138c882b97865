/** What Bridle promises about runs that call models and tools, proved with real servers, providers' formats and crashes. */

import { type Requirement, section } from "./requirements.ts";

export const modelRunRequirements: readonly Requirement[] = [
  ...section("Bridle", "Model runs: crashes", {
    "MTE-1": "A call whose answer was not recorded when the process died is made again, once.",
    "MTE-2": "A call whose answer was recorded is never made again.",
    "MTE-3": "A call that is made again has the room in its budget that it had, and is counted once.",
    "MTE-4":
      "An irreversible tool that was cut off is not called again: the task fails with outcome_unknown.",
    "MTE-5": "A reversible tool that was cut off is called again with the same idempotency key.",
    "MTE-6":
      "A question of an MCP server outlives the process; the answer reaches the call that is repeated.",
    "MTE-7": "Whatever models and tools do, the documents are what the events say.",
  }),
  ...section("Bridle", "Model runs: failures", {
    "MTE-8": "What may pass is tried again, and the record says how often.",
    "MTE-9": "When no model answers, the task fails with the code of the last failure.",
    "MTE-10": "Another model is asked when the first cannot answer, and the receipt says why.",
  }),
  ...section("Bridle", "Model runs: budgets", {
    "MTE-11": "A model is asked for no more than the budget has left, in tokens or in money.",
    "MTE-12": "A model that says more is cut off in mid-stream; what it said is in the log.",
    "MTE-13": "A person who is asked can let the call be made again without the limit.",
    "MTE-26":
      "Where a budget has room for more than an answer, models are asked side by side and without a limit.",
    "MTE-14": "A provider that reports less than it was allowed is not asked forever.",
  }),
  ...section("Bridle", "Model runs: streams", {
    "MTE-15": "What a model says is told while it says it, in few events that have all of it in order.",
    "MTE-16": "Only those who may see it are told, unless it is said to be for everybody.",
    "MTE-17": "A secret that a model says is in no event, in however many pieces it comes.",
    "MTE-27": "An agent that fails while it listens does not make a model be asked again.",
    "MTE-21": "What a model thinks is in no event, and does not go back to it changed.",
  }),
  ...section("Bridle", "Model runs: tools", {
    "MTE-18": "A tool whose task is canceled hears of it; what it gives late is told and changes nothing.",
    "MTE-19": "Canceling a task reaches MCP servers and models.",
    "MTE-20":
      "A model's tool calls go through approvals like the agent's own, and it hears what became of each.",
  }),
  ...section("Bridle", "Model runs: budgets that are shared", {
    "MTE-28": "What is reserved for an answer under way is not used up: who needs it waits, or comes back.",
  }),
  ...section("Bridle", "Model runs: history", {
    "MTE-22": "A conversation costs its length in the log, however often it is sent.",
    "MTE-23": "A replay asks no model and calls no tool, and can be given another answer.",
    "MTE-24": "Erasing a session leaves nothing of what models were told or said.",
    "MTE-25": "A session is exported and imported with all that models were told and said.",
  }),
];
