/** What `bridle/testing` promises to those who test their agents. */

import { type Requirement, section } from "./requirements.ts";

export const testingRequirements: readonly Requirement[] = [
  ...section("Bridle", "Testing", {
    "TST-1":
      "A rehearsal runs the agent as a server would and tells how it ended, what it did and what it left.",
    "TST-2":
      "People answer in order, by text or by a function; an answer that is missing ends the rehearsal, which says what it waits for.",
    "TST-3": "Time jumps over sleeps and deadlines; chance gives the same in every rehearsal.",
    "TST-4": "The persona's policy holds in a rehearsal.",
    "TST-5": "Hosts, secrets, memories, files and other agents are what the rehearsal says they are.",
    "TST-6":
      "A run whose process dies after a step goes on from its journal, without repeating what was recorded.",
    "TST-7": "Code that is not the same twice is found by letting it die after every step.",
    "TST-8": "What goes wrong is told with the journal.",
    "TST-9": "A rehearsal can be kept as a fixture, which is replayed without network.",
    "TST-10": "A rehearsal leaves no timer and no handle behind.",
    "TST-11":
      "Scripted models answer in order or by what they are asked, remember it, and say when they have no answer.",
    "TST-12": "Functions stand in for tools, local ones and those of MCP servers.",
  }),
];
