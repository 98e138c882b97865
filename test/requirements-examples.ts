/** What the projects in `examples/` show, each of which checks itself. */

import { type Requirement, section } from "./requirements.ts";

export const exampleRequirements: readonly Requirement[] = [
  ...section("Bridle", "Examples", {
    "EXA-1":
      "release-assistant: a model drafts notes, and what cannot be undone is done once somebody approved it.",
    "EXA-2":
      "triage: signed webhooks become tasks, a model judges, labels are put on, and a person is asked about what is urgent.",
  }),
];
