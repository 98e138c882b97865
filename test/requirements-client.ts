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
    "CLT-11":
      "Agents, personas and quotas are listed and read, tasks filtered, and every list can be walked to its end.",
    "CLT-12":
      "Sessions are closed, forked, and taken from one server to another line by line, without being held in memory.",
    "CLT-13":
      "A session over WebSocket gives its events, takes tasks, answers, permissions and cancelations, and tells open questions once.",
    "CLT-14":
      "A session over WebSocket outlives its connections: no event is lost or comes twice, and a command whose answer was lost is done once.",
    "CLT-15":
      "A session over WebSocket is a host: each call is done once, and what it throws fails the step.",
    "CLT-16":
      "A reader that does not read holds a bounded number of events, and gets all of them when it does.",
    "CLT-17": "What cannot go on is said by the class of its error, and nothing waits forever.",
    "CLT-18": "Events are typed by their kind, and what the server sends fits these types.",
    "CLT-10": "The client needs `fetch` and WebCrypto, and nothing of the server's code but the verifier.",
  }),
  ...section("Bridle", "User interfaces", {
    "UIS-1":
      "useChat of the AI SDK works against any agent: tools, text, questions, approvals, errors, over reloads.",
    "UIS-2": "Hooks for React show a conversation, its approvals and its task as they change.",
    "UIS-3": "The UI message stream refuses what it cannot do, and needs the scopes of what it does.",
    "UIS-4": "The UI message stream needs no version header, and the task outlives the page.",
  }),
  ...section("Bridle", "Explanations", {
    "WHY-1":
      "A task that waits says in one sentence for what, since when and until when, by which kind, and what would help.",
    "WHY-2":
      "A task that has ended says in one sentence how and why, who canceled it, and what to do about a failure.",
    "WHY-3": "An explanation tells no more than the caller may read of the task.",
  }),
  ...section("Bridle", "Agents and lists", {
    "LST-1": "The loaded agents are listed by name, with their versions, persona, description and skills.",
    "LST-2": "Tasks are listed by status, by agent, and by when their status changed.",
  }),
];
