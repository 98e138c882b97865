/** The rules of OPVS (wire-compatible with A2A 1.0) that a server keeps, numbered as in the protocol's checklist. */

import { type Requirement, section } from "./requirements.ts";

export const opvsRequirements: readonly Requirement[] = [
  ...section("OPVS", "Send and stream", {
    "OPVS-1": "SendMessage answers with a task or with a message, never with both.",
    "OPVS-2":
      "Unless it is told to answer at once, the answer is a task that has ended or waits for somebody.",
    "OPVS-3": "That answer has the latest status and all artifacts.",
  }),
];
