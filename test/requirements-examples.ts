/** What the projects in `examples/` show, each of which checks itself. */

import { type Requirement, section } from "./requirements.ts";

export const exampleRequirements: readonly Requirement[] = [
  ...section("Bridle", "Examples", {
    "EXA-1":
      "release-assistant: a model drafts notes, and what cannot be undone is done once somebody approved it.",
    "EXA-2":
      "triage: signed webhooks become tasks, a model judges, labels are put on, and a person is asked about what is urgent.",
    "EXA-3":
      "research: a model uses tools of an MCP server, and an agent of another server reviews what it wrote.",
    "EXA-4": "A report on a schedule: tools, a model, an artifact, a file, and a memory of the last one.",
    "EXA-5":
      "A prompt that was changed: old runs repeat, the change is found, old and new answers are compared.",
  }),
];
