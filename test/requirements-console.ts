/** What those are promised who use a server from a browser. */

import { type Requirement, section } from "./requirements.ts";

export const consoleRequirements: readonly Requirement[] = section("Bridle", "The console", {
  "CON-1":
    "The first page needs at most 200 KB of script, compressed; nothing is inline, nothing comes from elsewhere, and no page breaks its policy.",
  "CON-2":
    "A browser signs in with a key, which it does not keep, or with a link of the server, which works once and for 10 minutes.",
  "CON-3":
    "A session takes its cookie and the header of its page, outlives a restart, and ends with its key, by signing out, or after a week.",
  "CON-4": "Signing in and out is in the audit log, and pages offer what the key may do and no more.",
  "CON-5":
    "The list of runs shows what changes while it is looked at, is filtered by its address, and cancels several after saying how many.",
  "CON-6":
    "The page of a run shows what was said, done, made and proved, and takes answers, approvals and the other actions.",
  "CON-7":
    "A page whose connection breaks says so, and shows every event once when the connection is back, also after a restart of the server.",
  "CON-8": "What agents write is shown as text: it runs nothing, loads nothing, and hides nothing.",
  "CON-9":
    "Every page is accessible in both themes, at 360 and 1280 pixels, and can be used by keyboard alone.",
  "CON-10": "The page of all approvals shows what waits as it comes, and takes decisions by keyboard alone.",
  "CON-11":
    "A browser pairs as an approver with keys that nobody can take out of it, and signs there what it opened itself.",
  "CON-12": "An empty server says what to do first, and shows its tour at work.",
  "CON-13":
    "Agents are talked to by text or by a form of their input; a conversation can be forked at any turn.",
  "CON-15": "API keys are made for a role, shown once, and revoked, by those who may.",
  "CON-16":
    "A run that ended is replayed with other values for its steps, which are checked first; both runs are shown beside each other.",
  "CON-17":
    "Personas, schedules, quotas, connectors, vaults and the audit log are looked after in the browser; nothing is saved unseen.",
  "CON-18":
    "bridle dev on loopback is crashed from the console after a confirmation, comes back at its addresses, and loses no task.",
  "CON-19":
    "Beside a conversation are the frames that clients of each protocol get, and an agent's card with its signature checked.",
  "CON-20":
    "The console can be installed, and opens without a connection from files that it keeps; nothing of the API is kept.",
  "CON-14":
    "Receipts and exports from anywhere are verified in the browser, with keys of the reader's choice.",
});
