/** What `bridle/client` and `bridle/verify` promise to those who build on a server. */

import { type Requirement, section } from "./requirements.ts";

export const clientRequirements: readonly Requirement[] = [
  ...section("Bridle", "Client", {
    "CLT-1":
      "Receipts, chains, inclusion and approval proofs are verified with WebCrypto alone, by the rules of the server.",
  }),
];
