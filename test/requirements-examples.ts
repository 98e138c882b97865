/** What the projects in `examples/` show, each of which checks itself. */

import { type Requirement, section } from "./requirements.ts";

export const exampleRequirements: readonly Requirement[] = [
  ...section("Bridle", "Examples", {
    "EXA-1":
      "release-assistant: a model drafts notes, and what cannot be undone is done once somebody approved it.",
  }),
];
