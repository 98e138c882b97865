/** The rules of OPVS (wire-compatible with A2A 1.0) that a server keeps, numbered as in the protocol's checklist. */

import { type Requirement, section } from "./requirements.ts";

export const opvsRequirements: readonly Requirement[] = [
  ...section("OPVS", "Send and stream", {
    "OPVS-1": "SendMessage answers with a task or with a message, never with both.",
    "OPVS-2":
      "Unless it is told to answer at once, the answer is a task that has ended or waits for somebody.",
    "OPVS-3": "That answer has the latest status and all artifacts.",
  }),
  ...section("OPVS", "Capabilities", {
    "OPVS-43": "An agent whose card has no extended card answers that the operation is not supported.",
    "OPVS-44": "An extended card that is declared but not set up has an error of its own.",
  }),
  ...section("OPVS", "Data and JSON", {
    "OPVS-93": "What is required is there in everything that is sent.",
    "OPVS-96": "A security scheme is of exactly one kind.",
    "OPVS-97": "OAuth flows are exactly one flow.",
  }),
  ...section("OPVS", "Bindings", {
    "OPVS-104": "Every binding and version that is spoken is on the card.",
  }),
  ...section("OPVS", "Card", {
    "OPVS-118": "There is a card, at the well-known address.",
    "OPVS-119": "Each interface on it says truly which binding is spoken where.",
    "OPVS-122": "The extended card is for those with credentials of a kind that the card names.",
    "OPVS-123": "Nobody is told on it what they may not see.",
    "OPVS-124": "What is signed is the RFC 8785 form of the card.",
    "OPVS-125": "Optional fields that are not set are not in it.",
    "OPVS-126": "Optional fields that are set are in it, also at their defaults.",
    "OPVS-127": "Required fields are in it, also at their defaults.",
    "OPVS-128": "All other fields at their defaults are not in it.",
    "OPVS-129": "Signatures are not in it.",
    "OPVS-130": "The protected header has the algorithm, the key's id and the type.",
    "OPVS-132": "A key that has ended verifies nothing.",
  }),
  ...section("OPVS", "Push notifications", {
    "OPVS-41":
      "An agent without push notifications answers every operation about them with PushNotificationNotSupportedError.",
    "OPVS-47": "Creating a config gives it back with an id.",
    "OPVS-48": "Creating one for an unknown task is TaskNotFoundError.",
    "OPVS-49": "A config is there until its task has ended or it is deleted.",
    "OPVS-50": "Reading a config gives its URL and settings.",
    "OPVS-51": "Reading one that is missing, or somebody else's, fails.",
    "OPVS-52": "Listing gives every config of the task.",
    "OPVS-53": "Deleting removes a config for good; nothing is sent afterwards.",
    "OPVS-54": "Deleting twice succeeds twice.",
    "OPVS-55": "Every update is sent to every webhook of the task at least once.",
    "OPVS-56": "What is sent is a StreamResponse with exactly one member.",
    "OPVS-57": "Configured credentials are in the headers of what is sent.",
  }),
  ...section("OPVS", "Secrets", {
    "OPVS-144": "Credentials are kept as secrets.",
    "OPVS-145": "Logs hold no credentials.",
  }),
];
