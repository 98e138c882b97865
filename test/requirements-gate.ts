/** `bridle gate`: a person's signature between a tool and what it is about to do. */

import { type Requirement, section } from "./requirements.ts";

export const gateRequirements: readonly Requirement[] = section("Bridle", "The gate", {
  "GAT-1":
    "A policy is checked against its schema; the strictest rule that matches decides, over words, paths, hosts, tools and risk.",
  "GAT-2": "No spelling of a command gets past a rule that asks or denies.",
  "GAT-3":
    "A policy allows only in the form that was trusted, and no policy lets a tool change the gate unasked.",
});
