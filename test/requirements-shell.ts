/** What the reference shell promises: as a library in browsers and Node.js, and as `bridle shell`. */

import { type Requirement, section } from "./requirements.ts";

export const shellRequirements: readonly Requirement[] = [
  ...section("OpenHarness", "Shell: messages", {
    "SHL-1":
      "Every request says its version, an id of its own, who the shell is and whose conversation it is; options that cannot be meant are refused.",
    "SHL-2": "The shell offers the capabilities that it has handlers for, and no others.",
    "SHL-3": "What the engine offers and denies is known to the program after the first response.",
    "SHL-4": "Every version of the same major is understood; another one is an error that names both.",
    "SHL-5": "Unknown members are ignored at every level.",
    "SHL-6": "A malformed response is an error that names the place; nothing of it is carried out.",
    "SHL-7": "A response, or a frame, for another request is refused.",
    "SHL-8": "Responses, frames and lists have limits.",
    "SHL-9": "Attachments are references; embedded content is refused before it is sent.",
    "SHL-40": "A shell has one turn at a time.",
  }),
  ...section("OpenHarness", "Shell: streams", {
    "SHL-10": "A directive is carried out when its frame comes, and not again with the response.",
    "SHL-11": "A stream is taken only if it was offered; an answer that is no stream always is.",
    "SHL-12": "A stream that is cut is continued by the same message, and nothing is carried out twice.",
    "SHL-13": "After a frame that is missing, the response has the order.",
    "SHL-14": "Progress is told to the program, as frames and as directives.",
  }),
  ...section("OpenHarness", "Shell: retries", {
    "SHL-15": "Only what can be different the next time is tried again, always with the same message.",
    "SHL-16": "Attempts are bounded and further and further apart; what the engine asks for is respected.",
    "SHL-17": "A line on which nothing is heard is given up.",
  }),
  ...section("OpenHarness", "Shell: directives", {
    "SHL-18":
      "An action type without a handler is never carried out: its text is shown, unknown_action_type is told, the rest goes on.",
    "SHL-19": "Sequential directives wait for everything before them.",
    "SHL-20": "Parallel directives run together, up to a limit; a sequential one waits for the group.",
    "SHL-21": "A handler or a listener that throws ends nothing but itself.",
    "SHL-22": "A directive whose deadline, counted from its receipt, has passed is not begun.",
    "SHL-23": "A directive that runs past its deadline is aborted by its signal and has timed out.",
    "SHL-24": "What requires approval begins after a yes, and in no other way.",
    "SHL-25": "What is above the shell's limit of risk is asked for too; an unknown tier is the highest.",
    "SHL-26": "Without somebody to ask, the answer is no.",
    "SHL-27": "A person is asked one thing at a time.",
    "SHL-28": "Only true is a yes; an approver that fails has said no.",
    "SHL-29": "Whatever an engine sends, nothing unknown runs and the shell does not break.",
  }),
  ...section("OpenHarness", "Shell: runs that go on", {
    "SHL-30": "Outcomes that the engine expects go back with the continuation, each once.",
    "SHL-31": "Decisions go back with the id and the hash that were shown.",
    "SHL-32": "An approval that is given elsewhere is not asked for here.",
    "SHL-33": "Each continuation is used once, and kept when a request was refused.",
    "SHL-34": "While the engine works on, the shell waits by itself, with pauses.",
    "SHL-35":
      "A question is given to the program, and the next intent is its answer; an open run can be canceled.",
    "SHL-36": "A turn can be given up at any moment, and come back to.",
    "SHL-37":
      "A conversation can be taken up from its state by another process; what was begun is not begun again, and the engine is told.",
    "SHL-38": "A run that failed is shown with what was said before.",
    "SHL-39": "Secret surroundings are in no state that is kept.",
    "SHL-41": "All of this works in a browser.",
    "SHL-52": "Shell and engine keep their promises to each other.",
    "SHL-55":
      "A shell whose address is ws or wss speaks to the engine over a WebSocket, with the same results.",
  }),
  ...section("OpenHarness", "Shell: bridle shell", {
    "SHL-42": "At a terminal, words, progress, questions and commands are shown and taken as they come.",
    "SHL-43":
      "An approval is shown with summary, details, risk and hash before it is asked for; what was typed before does not answer it.",
    "SHL-44": "There are colours on terminals only, and not with NO_COLOR.",
    "SHL-45": "Text from agents cannot drive the terminal.",
    "SHL-46": "Ctrl-C ends the wait, a second one the shell; Ctrl-D ends it too.",
    "SHL-47": "An open run is remembered after quitting, in a file for its owner only, until it has ended.",
    "SHL-48": "A file is uploaded first and goes as a reference.",
    "SHL-49":
      "In a pipe each line is a message, output is plain, and the exit code says whether all went well.",
    "SHL-50": "In a pipe nothing is approved.",
    "SHL-51": "Lines fit the terminal.",
    "SHL-54":
      "Who names no agent talks to the server's default; agents are listed and switched in the shell.",
    "SHL-53": "What cannot work is one line on standard error.",
  }),
];
