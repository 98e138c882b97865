/** The rules of OPVS (wire-compatible with A2A 1.0) that a server keeps, numbered as in the protocol's checklist. */

import { type Requirement, section } from "./requirements.ts";

export const opvsRequirements: readonly Requirement[] = [
  ...section("OPVS", "Send and stream", {
    "OPVS-1": "SendMessage answers with a task or with a message, never with both.",
    "OPVS-2":
      "Unless it is told to answer at once, the answer is a task that has ended or waits for somebody.",
    "OPVS-3": "That answer has the latest status and all artifacts.",
  }),
  ...section("OPVS", "As a client", {
    "OPVS-39": "A task that is named to a remote is one that the remote named first.",
    "OPVS-40": "A result does not depend on messages being kept in the remote's history.",
    "OPVS-66": "Every request to a remote says which version it speaks.",
    "OPVS-72": "Version and binding are chosen from what the remote's card offers.",
    "OPVS-120": "The first interface of a card that is known is used, at its own URL.",
    "OPVS-121": "The tenant of that interface goes with every request.",
    "OPVS-131": "A card is checked against the form that was signed, with a key that is trusted by name.",
    "OPVS-132": "A key that has expired or was revoked verifies nothing.",
  }),
];
