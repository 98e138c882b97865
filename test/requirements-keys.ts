/** What operators are promised of API keys and of the administrator's key. */

import { type Requirement, section } from "./requirements.ts";

export const keyRequirements: readonly Requirement[] = [
  ...section("Bridle", "Credentials", {
    "KEY-3": "Events and receipts name the API key that was used, beside the actor. Imports bring none.",
  }),
];
