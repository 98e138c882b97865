/** What `bridle/client` and `bridle/verify` promise to those who build on a server. */

import { type Requirement, section } from "./requirements.ts";

export const clientRequirements: readonly Requirement[] = [
  ...section("Bridle", "Client", {
    "CLT-1":
      "Receipts, chains, inclusion and approval proofs are verified with WebCrypto alone, by the rules of the server.",
    "CLT-2": "Tasks are submitted, waited for, answered, approved, canceled and replayed.",
    "CLT-3": "Events come once and in order; the events of a task end with it, and whoever reads can leave.",
    "CLT-4": "No event is lost and none comes twice when connections break, fall silent, or the server dies.",
    "CLT-5": "Errors are classes by code, and name the request and the page that explains them.",
    "CLT-6": "A write whose answer was lost is sent again and done once.",
    "CLT-7": "Content is compared with its hash both ways.",
    "CLT-8": "Receipts are verified on the client.",
    "CLT-10": "The client needs `fetch` and WebCrypto, and nothing of the server's code but the verifier.",
  }),
];
