/** What beginners and operators are promised: a project that works, and to be told what is wrong. */

import { type Requirement, section } from "./requirements.ts";

export const initRequirements: readonly Requirement[] = [
  ...section("Bridle", "bridle init", {
    "INI-1": "A new project's tests pass, and its types fit, as they are.",
    "INI-2": "bridle dev in it runs a task from the agent's question to its end.",
    "INI-3":
      "Files that are there are not written over without --force; they are listed, and nothing is changed.",
    "INI-4": "A name that no package can have is refused, and nothing is made.",
  }),
];
