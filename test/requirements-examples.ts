/** What the examples show, each of which finds itself right. */

import { type Requirement, section } from "./requirements.ts";

export const exampleRequirements: readonly Requirement[] = [
  ...section("Bridle", "Examples", {
    "EXA-4": "A report on a schedule: tools, a model, an artifact, a file, and a memory of the last one.",
    "EXA-5":
      "A prompt that was changed: old runs repeat, the change is found, old and new answers are compared.",
  }),
];
