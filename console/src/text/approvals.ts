/** What the pages of approvals say. */

import { count } from "./count.ts";

export const approvalsText = {
  title: "Approvals",
  keys: "Keys: J and K go to the next and the previous request, A to its Approve button, D to its Deny button.",
  waiting: "Waiting",
  decided: "Decided",
  none: "Nothing waits for approval",
  noneHelp: "Requests appear here when an agent asks for permission.",
  openRun: "Open the run",
  quorum: (approved: number, all: number) =>
    `${approved} of ${count(all, "approver has", "approvers have")} approved`,
  phone: {
    open: "On your phone",
    title: "Approve on your phone",
    help: "Read this code with the phone's camera, sign in there, and pair the phone: it makes keys of its own. No key is in the code.",
    unreachable:
      "This page is open at an address of this computer only. Open it at an address that the phone reaches, then use the code.",
    code: (address: string) => `QR code of ${address}`,
  },
  states: { APPROVED: "approved", EXECUTED: "approved and done", DENIED: "denied", EXPIRED: "expired" },
  stateWaiting: "asked",
  signed: "Signed approvals",
  signedHelp: (id: string) =>
    `You are the approver ${id}. What you decide here is signed in this browser; the server never sees your signing key and cannot sign for you.`,
  createKeys: "Create keys in this browser",
  createHelp:
    "The keys cannot be read out, not even by this page. Pair every browser and device that you use.",
  fingerprint: "Fingerprint of this browser",
  fingerprintHelp:
    "Read it out to the operator. Both must see exactly the same before the operator confirms.",
  code: "Pairing code",
  codeHelp: "The operator gets it with: bridle pair",
  findCode: "Continue",
  offer: "This code is from",
  offerHelp: "The gateway says so. Make sure that it is the one you mean.",
  workspace: "Workspace",
  enforcerFingerprint: "Its fingerprint",
  pair: "Pair this browser",
  pairAgain: "Pair with another server",
  paired: "This browser is paired. Decisions count once the operator has confirmed the fingerprint.",
  forget: "Remove the keys from this browser",
  forgetTitle: "Remove the keys from this browser?",
  forgetHelp:
    "Requests that are sealed for these keys can no longer be opened here. Have the operator revoke the key as well.",
  inboxEmpty: "Nothing waits for your signature.",
  sealed:
    "This request is sealed for another device, or was changed on its way. It cannot be shown or signed.",
  hash: "Hash that is signed",
  about: "About",
  approveSigned: "Approve and sign",
  denySigned: "Deny and sign",
  reasonNote: "The gateway can read the reason; it is not signed.",
  signing: "Signing…",
  sent: (decision: string) => `Signed and sent: ${decision}`,
  trouble: (message: string) => `The gateway cannot be reached: ${message} Trying again…`,
} as const;
