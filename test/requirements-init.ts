/** What beginners and operators are promised: a project that works, and to be told what is wrong. */

import { type Requirement, section } from "./requirements.ts";

export const initRequirements: readonly Requirement[] = [
  ...section("Bridle", "bridle init", {
    "INI-1": "A new project's tests pass, and its types fit, as they are.",
    "INI-2": "bridle dev in it runs a task from the agent's question to its end.",
    "INI-3":
      "Files that are there are not written over without --force; they are listed, and nothing is changed.",
    "INI-4": "A name that no package can have is refused, and nothing is made.",
    "INI-5": "Each template is a project that works; one that does not exist is refused.",
  }),
  ...section("Bridle", "Deployment", {
    "DEP-1":
      "A project depends on a file of its own, and its container runs as it is described, on a read-only root.",
    "DEP-2":
      "Compose files, CI workflow, manifests and units of the pages are well formed and name real settings.",
    "DEP-3": "npm create bridle makes the same project as bridle init.",
    "DEP-4":
      "A clone without development packages starts, and an older Node.js is told in one line what is wrong.",
  }),
  ...section("Bridle", "bridle doctor", {
    "DOC-1": "Where a server could start, every check is ok, the exit code is 0, and nothing is written.",
    "DOC-2": "What would keep a server from working is one line each, with what to do, and exit code 1.",
    "DOC-3": "A server that is running is asked, and its ports and its data directory are no problem.",
    "DOC-4": "A log that is newer than the clock is a problem, and so is a Node.js that is too old.",
    "DOC-5": "Providers of models are named, and no key is ever shown.",
  }),
];
