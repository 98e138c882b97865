/** What operators are promised of API keys and of the administrator's key. */

import { type Requirement, section } from "./requirements.ts";

export const keyRequirements: readonly Requirement[] = [
  ...section("Bridle", "Credentials", {
    "KEY-3": "Events and receipts name the API key that was used, beside the actor. Imports bring none.",
    "KEY-4":
      "A key bound to agents or personas gives work to, talks to and lists no others, on any surface, and writes nothing for the whole tenant. What it makes is bound alike.",
    "KEY-5":
      "A key bound to addresses, its tokens and its tickets are 401 from elsewhere. What it makes is bound alike.",
    "KEY-6": "New keys expire after 90 days, or as the operator set; only admin makes one that lasts longer.",
    "KEY-7": "When a key was used last is known to the hour and survives restarts.",
    "KEY-8":
      "Rotating a key keeps its id, rights and end. The old secret and its tokens work until the overlap ends; there is one old secret at a time.",
    "KEY-9": "bridle key and the client create, list, show, rotate and revoke keys.",
    "KEY-10":
      "Revoking a key ends its tokens, tickets, streams, WebSockets and host roles within a second, and names what it made.",
    "KEY-11":
      "Rotating the administrator's key replaces admin.key; the old key and its streams end at once and for good. No new key is in log or events.",
    "KEY-12":
      "The administrator's key can be disabled while another unbound admin key exists. It stays so until it is enabled, by such a key or offline.",
    "KEY-13":
      "Only unbound admin keys of the default tenant change the administrator's key, and none gains by it.",
  }),
];
