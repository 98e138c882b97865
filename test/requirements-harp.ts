/**
 * The rules of HARP 0.2 that an enforcer, an approver and a gateway keep, numbered as in the protocol's checklist, in our
 * words. Where the protocol is silent or disagrees with itself, the rule is the one that Bridle decided for.
 */

import { type Requirement, section } from "./requirements.ts";

export const harpRequirements: readonly Requirement[] = [
  ...section("HARP", "Canonical bytes and hashes", {
    "HARP-1":
      "The published artifact and decision have exactly the published canonical bytes, and the artifact its published hash.",
    "HARP-2":
      "Neither the order of keys nor white space of the input changes canonical bytes, which have no white space, byte order mark or last newline of their own.",
    "HARP-3": "The edge cases of strings, numbers and keys have the stated bytes and hash.",
    "HARP-4":
      "Fractions, integers beyond 2^53, halves of surrogate pairs, such characters in keys, and undefined have no canonical form: HARP_ERR_CANONICALIZATION.",
    "HARP-5": "A member that is null and one that is not there hash differently.",
    "HARP-6": "Adding metadata, extensions, a session or a base revision to an artifact changes its hash.",
    "HARP-7":
      "A hash algorithm other than SHA-256, or a hash that is not 64 lowercase hexadecimal digits, is refused.",
    "HARP-8":
      "An artifact that lacks a required field, is of an unknown type, or has a member that artifacts do not have is refused.",
    "HARP-9": "A hash that another implementation computed for the same artifact is the same.",
  }),
  ...section("HARP", "Decisions and signatures", {
    "HARP-10": "The published signature verifies with the published key.",
    "HARP-11": "With any one byte of what was signed changed, it does not.",
    "HARP-12": "A signature with a flipped bit, cut, padded, or in another base64 is refused.",
    "HARP-13": "A valid signature is refused when it is checked against another key that is known.",
    "HARP-14": "A signature algorithm other than Ed25519 is HARP_ERR_UNSUPPORTED.",
    "HARP-15": "A decision that is neither allow nor deny, or whose scope is none of the three, is refused.",
    "HARP-16": "Policy hints, where there are any, are part of what is signed.",
    "HARP-17": "Signatures are verified also when everything was encrypted on the way.",
    "HARP-18":
      "A decision is compared with the hash of the action as it is when it is about to run; another one is HARP_ERR_HASH_MISMATCH.",
    "HARP-19": "A decision about another request or another repository is refused.",
    "HARP-20": "Every check that fails denies execution and leaves a record.",
    "HARP-21": "What an approver signs, its hash and its signature are those of the four known decisions.",
    "HARP-22":
      "What came through a gateway is put together again and verifies; approve turned into reject on the way does not.",
    "HARP-23": "The reason may change on the way without effect, and is shown as nobody's word.",
    "HARP-24": "A hash of the decision that is there and wrong is refused.",
    "HARP-25": "Terms that were offered and the narrower default both verify; any others do not.",
  }),
  ...section("HARP", "Scope, replay, expiry, state", {
    "HARP-26": "A decision that comes twice is HARP_ERR_REPLAY the second time, and nothing runs.",
    "HARP-27":
      "A decision with a nonce that its signer used before, or a second one for a used request and hash, is refused.",
    "HARP-28":
      "Used decisions are remembered over restarts, until they have expired with the allowed skew and for at least ten minutes.",
    "HARP-29": "An expired decision is HARP_ERR_EXPIRED, however often it is sent.",
    "HARP-30": "An expired artifact never runs, not even with a decision that has not expired.",
    "HARP-31":
      "Clocks may differ by 60 seconds unless it is set otherwise: 59 after expiry is fine, 61 is not.",
    "HARP-32": "A time box is used once, unless policy says otherwise.",
    "HARP-33":
      "A decision for a session that names no session, another one, or one that has ended is HARP_ERR_SCOPE.",
    "HARP-34": "Only the moves of the table happen; nothing runs from any state but APPROVED.",
    "HARP-35": "A crash between approval and execution never leads to two executions.",
    "HARP-36":
      "While the replay cache, the keys or the revocations are missing or damaged, everything is denied.",
    "HARP-37":
      "With a gateway that cannot be reached until expiry, the action is denied and HARP_ERR_TRANSPORT is logged.",
    "HARP-38": "Error objects have a code, a message, and whether trying again helps.",
  }),
  ...section("HARP", "End-to-end encryption", {
    "HARP-39": "Encrypting the known inputs gives the known bytes.",
    "HARP-40": "Each recipient opens it; a key that is no recipient's finds no entry of its own.",
    "HARP-41": "Any flipped bit in any part of it makes opening fail, and nothing is shown.",
    "HARP-42": "A hash, request, type or expiry outside that differs from the sealed one is refused.",
    "HARP-43":
      "What was sealed is refused when it is not in canonical form, repeats a key, or has a wrong hash.",
    "HARP-44": "An unknown algorithm, key derivation or profile is HARP_ERR_UNSUPPORTED.",
    "HARP-45":
      "Two encryptions of one artifact share no key and no nonce; equal contents hash differently, by a salt.",
    "HARP-46": "A shared secret of zeros is refused.",
    "HARP-47":
      "A word in the payload, the repository reference or the metadata of an artifact is nowhere in the gateway: not in its files, logs, answers or memory.",
  }),
  ...section("HARP", "Exchanges", {
    "HARP-48":
      "An artifact that is accepted makes one durable exchange in PendingApproval, with its request, creation and expiry.",
    "HARP-49": "Exchange and inboxes are there after a kill right behind the 202.",
    "HARP-50": "Every event in every state does exactly what the table of states says.",
    "HARP-51":
      "An exchange is in exactly one state whatever happens at once; a decision, once stored, never changes.",
    "HARP-52":
      "What is pending expires when its time has passed, also if nothing sweeps; nothing else ever expires.",
    "HARP-53": "The same artifact again is 202, makes no second approval request and pushes nothing.",
    "HARP-54": "The same request with another hash is 409 AlreadyExistsConflict.",
    "HARP-55": "The same decision again is 200 and changes nothing; it is delivered as one message.",
    "HARP-56":
      "Another decision on what is decided is 409 AlreadyDecidedConflict; of several at once exactly one is 200.",
    "HARP-57":
      "A decision about an unknown or withdrawn exchange is 404, about an expired or cancelled one 409, with another hash 422.",
    "HARP-58": "Withdrawing what is pending makes it Withdrawn and takes it out of the inboxes.",
    "HARP-59": "Withdrawing anything that is not pending is 409.",
    "HARP-60":
      "Only the enforcer that owns an exchange can withdraw it, wait for it or acknowledge its delivery.",
    "HARP-61": "An artifact that has already expired, or that nobody can approve, is 422.",
  }),
  ...section("HARP", "Routing and metadata", {
    "HARP-62": "An exchange belongs to the enforcer that was authenticated.",
    "HARP-63":
      "With several live channels a decision goes to the most recent one only; after that is closed, to the other.",
    "HARP-64": "Without a live channel a decision is kept, in the inbox and for whoever waits.",
    "HARP-65":
      "An approval request is filed with every chosen approver and pushed to those who are there; by name, by token, or tenant-wide.",
    "HARP-66":
      "Routing tokens, approver ids and tenant ids of the metadata never reach an approver, at any depth.",
    "HARP-67": "Labels, and members that the gateway does not know, reach the approver.",
    "HARP-68": "Metadata may be missing; where only routing was in it, approvers see no metadata at all.",
  }),
  ...section("HARP", "Presence and pairing", {
    "HARP-69":
      "An enforcer is online while it is connected and heard from, offline afterwards; its hello says what it can and is called.",
    "HARP-70": "Decisions are delivered whatever presence says.",
    "HARP-71": "Presence in another tenant is invisible; asking without a tenant is 400.",
    "HARP-72": "Pairing gives a routing token that routes the next artifact.",
    "HARP-73": "A code that has expired is 404, and nothing that has expired becomes a token.",
    "HARP-74": "A code is resolved once; completing twice is 409.",
    "HARP-75":
      "Codes have at least six letters or digits, live at most ten minutes, and cannot be guessed at any speed.",
    "HARP-76": "A routing token of another enforcer or tenant routes nothing.",
  }),
  ...section("HARP", "Delivery and acknowledgement", {
    "HARP-77":
      "What was not acknowledged comes again after a reconnect, with the same id, and stays listed; what was, is not pushed again.",
    "HARP-78": "Acknowledging a decision makes it Delivered; doing so again is 200.",
    "HARP-79":
      "An acknowledgement with a wrong status, without a time, of an unknown message or by somebody else is refused.",
    "HARP-80": "Decisions and ciphertext arrive exactly as they were sent.",
    "HARP-81": "A decision that is delivered again is acknowledged and executes nothing.",
  }),
  ...section("HARP", "HTTP, SSE, WebSocket", {
    "HARP-82": "Every endpoint answers with the status and body that it should.",
    "HARP-83":
      "Every envelope that is emitted is well-formed, with an id, a request, a time, the gateway as sender, and an expiry where there is an exchange.",
    "HARP-84":
      "Every error is an error envelope with code and message; the codes of 409, and no others, end in Conflict.",
    "HARP-85":
      "No message types are invented, extension members have a namespace, and what is not HARP does not use its media type.",
    "HARP-86":
      "Another media type is 415; a message type that does not belong there, or a member that is not known, is 400.",
    "HARP-87": "A time that is not RFC 3339, a missing field, or an unknown value is 400.",
    "HARP-88": "Ids that differ in case only are different.",
    "HARP-89":
      "The inbox shows what is pending and nothing else, that of expired requests what expired; paging gives each item once.",
    "HARP-90": "Deleting an item of an inbox is 204, then 404, and leaves its exchange alone.",
    "HARP-91": "Waiting gives the decision as soon as there is one, and 204 when time is up.",
    "HARP-92":
      "A refresh is forwarded to an enforcer that is online, is 400 without its id, and 503 when it is offline.",
    "HARP-93": "A refresh leads to a new request, never to a conflict that repeats.",
    "HARP-94":
      "Events over SSE have their names and one line with an envelope; what is pending is listed without SSE too.",
    "HARP-95":
      "A text frame is an envelope; hello is bare and need not come; what is submitted is treated as over REST.",
    "HARP-96": "States are in camelCase in exchange.status; exchange.withdrawn says Withdrawn.",
    "HARP-97": "The published messages are accepted, and ours match those that a gateway sends.",
    "HARP-98": "A version that is not supported is 426, with those that are.",
    "HARP-99":
      "Clients send the media type, the version, and an idempotency key with artifacts, and come back after growing pauses.",
  }),
  ...section("HARP", "Transport and access", {
    "HARP-100": "Without TLS 1.2 or later nothing is served, and it is logged.",
    "HARP-101": "Missing or wrong credentials are 401, before the body is read as anything.",
    "HARP-102":
      "A role, tenant, sender or id in the path that is not the caller's is 403 or 404, and tells nothing about what exists.",
    "HARP-103":
      "A body that is too large is 413, a frame that is too large closes with 1009; neither is stored.",
    "HARP-104":
      "Connections are pinged, idle ones are closed, who asks too often is told 429, and client certificates are checked where they are asked for.",
    "HARP-105": "Logs have metadata only: no ciphertext, no tokens, no codes.",
  }),
  ...section("HARP", "Keys", {
    "HARP-106": "Keys are random; private ones never leave unencrypted and are never sent.",
    "HARP-107":
      "A key is kept with its id, its device (a random UUID), its time and its fingerprint, which is shown while pairing.",
    "HARP-108": "A store of keys that was tampered with denies everything.",
    "HARP-109": "A decision by a key that is pending, unknown or there twice is refused.",
    "HARP-110": "While keys overlap both are accepted, afterwards only the new one.",
    "HARP-111": "Revocation counts at once, also for what was signed before.",
    "HARP-112":
      "A tenant can have several approver keys, each limited to its role; records name the algorithm and have room for certificates; a recovered key is validated again.",
    "HARP-113":
      "What happens to keys, signatures, replays and versions is logged; editing a line breaks the chain.",
  }),
  ...section("HARP", "Prompts and sessions", {
    "HARP-114": "The known prompt and snapshot have the known hashes.",
    "HARP-115": "A prompt that is sent again is delivered once, and acknowledged the same.",
    "HARP-116":
      "A prompt's id with another hash is HARP_ERR_HASH_MISMATCH; one with a wrong hash is never delivered.",
    "HARP-117":
      "A prompt's expiry is honoured; unknown targets and more than 256 KB are refused; policy can allow, deny and limit.",
    "HARP-118": "A snapshot that is sent again makes no second record.",
    "HARP-119":
      "A snapshot with a wrong hash is neither kept nor forwarded; events without a type, a second start, and unknown states, types or reasons are refused.",
    "HARP-120": "After the end of a session its events are refused; events may come out of order.",
  }),
  ...section("HARP", "What everybody refuses, and declares", {
    "HARP-121": "JSON that is cut off is refused everywhere and changes nothing.",
    "HARP-122": "A corrupted hash or signature is refused.",
    "HARP-123": "What was created in the future, or expires before it was created, is refused.",
    "HARP-124": "Algorithms that do not exist are refused wherever they are named.",
    "HARP-125":
      "Whatever a gateway drops, delays, reorders, doubles, forges or edits, nothing runs without a valid decision.",
    "HARP-126": "Whatever is sent as a message, the answer is never 5xx and nothing changes by mistake.",
    "HARP-127":
      "Version, algorithms, level, trust boundaries and residual risks are published; another major version is refused and logged.",
    "HARP-128":
      "Known messages and refusals are tested on every change; how it works with others' enforcers and approvers is written down.",
  }),
];
