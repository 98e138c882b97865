/** What is promised about how reliability is checked. */

import { type Requirement, section } from "./requirements.ts";

export const proofRequirements: readonly Requirement[] = [
  ...section("Bridle", "Simulation", {
    "SIM-1":
      "With crashes, I/O errors, lost and repeated messages, set clocks and a second server, all that was accepted comes to its end once.",
    "SIM-2": "A seed of the simulation gives the same log every time.",
    "SIM-3":
      "A run that waits for one thing after the other is dropped from memory only with a note of what it waits for.",
  }),
  ...section("Bridle", "Soak", {
    "SOA-1":
      "What is acknowledged over any protocol is done once, though the server is killed, stopped, cut off and out of disk.",
  }),
];
