/** What the commands promise with which people work with a running server. */

import { type Requirement, section } from "./requirements.ts";

export const commandRequirements: readonly Requirement[] = [
  ...section("Bridle", "Commands for a running server", {
    "CMD-1":
      "Agents are listed and shown with what they take; an unknown one is an error that says which could be meant.",
    "CMD-2": "Sessions are made, listed, shown, read, forked and closed.",
    "CMD-3":
      "A task is submitted in words or as JSON, from an argument, a file or standard input; under the same key it is the same task.",
    "CMD-4":
      "Waiting for a task prints what its agent said; the exit code is 0 when it completed, 1 when not, 5 when it waits for a person.",
    "CMD-5": "Tasks are listed newest first, by status, agent, session and time, as many as wanted.",
    "CMD-6": "A task is shown, and explained in one sentence with the command that helps.",
    "CMD-7":
      "A question is answered in words or JSON; what is no answer, or was not asked for, changes nothing.",
    "CMD-8": "A task is canceled, with a reason.",
    "CMD-9":
      "The log of a task is a line for every fact, or JSON lines; no payload breaks it, and nothing in it drives a terminal.",
    "CMD-10": "`last` stands for the newest task or session.",
    "CMD-11":
      "What waits for a decision is listed, approved and denied by request or task; everything at once only with --yes.",
    "CMD-12":
      "On a terminal, requests are shown one by one with all that would be approved, and decided there.",
    "CMD-13": "Where only signatures count, that is said, and nothing is sent.",
    "CMD-14": "Every command has JSON of the protocol's resources, and help with its options.",
    "CMD-15": "A call that cannot be meant is wrong use, and nothing is done.",
  }),
  ...section("Bridle", "bridle task watch", {
    "CMD-20":
      "The view shows agent, status, times, words, steps, what a model says, what was used, and why it ended.",
    "CMD-21":
      "The view fits the screen, whatever is in it; older steps are folded; colours and Unicode are optional.",
    "CMD-22":
      "What a task asks is always in view, with exactly what would be approved and the command that helps.",
    "CMD-23":
      "When the server is away the watch says so, and goes on by itself when it is back, missing nothing.",
    "CMD-24":
      "On a terminal questions and approvals are answered in the view, and the last state stays on the screen.",
    "CMD-25": "Ctrl-C leaves: the terminal is as it was, the exit code is 130, the task goes on.",
    "CMD-26":
      "Elsewhere than on a terminal a watch is a line for every fact, or JSON lines, and ends as the task did.",
  }),
];
