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
  ...section("Bridle", "Witnessed receipts", {
    "WIT-1":
      "A checkpoint is the signed head of a workspace's chain, as C2SP tlog-checkpoint has it, now or as it was.",
    "WIT-2": "Between any two sizes of a chain there is a proof that verifies, and no other one does.",
    "WIT-3":
      "A witness signs heads that go on from those it saw, and reports every rewritten history with both notes.",
    "WIT-4": "Checkpoints and proofs are for callers with receipts:read, of their own tenant.",
  }),
  ...section("Bridle", "Fuzzing", {
    "FUZ-1":
      "Sequences of requests by the grammar of the API, valid and changed, to all surfaces are answered, none with an error of the server.",
    "FUZ-2": "Requests that were answered wrongly once are kept and answered rightly.",
  }),
  ...section("Bridle", "Kills", {
    "KIL-1": "Every named fail point has kills in docs/reliability.md, or a reason why it has none.",
  }),
  ...section("Bridle", "Soak", {
    "SOA-1":
      "What is acknowledged over any protocol is done once, though the server is killed, stopped, cut off and out of disk.",
  }),
];
