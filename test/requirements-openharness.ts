/** The rules of OpenHarness v1.0.0-draft that an engine keeps, by the sections of the protocol, and those of Bridle's profile. */

import { type Requirement, section } from "./requirements.ts";

export const openHarnessRequirements: readonly Requirement[] = [
  ...section("OpenHarness", "§3 Versioning", {
    "OPH-1": "Every response says the version that it is in, and the versions that the engine accepts.",
    "OPH-2": "Every version of the same major is served; another major is protocol_version_unsupported.",
    "OPH-3": "A version that is missing or is none is invalid_request.",
  }),
  ...section("OpenHarness", "§4 Extensibility", {
    "OPH-4": "Unknown fields are ignored at every level.",
  }),
  ...section("OpenHarness", "§5 Envelopes and capabilities", {
    "OPH-5": "request_id and correlation_id come back, in errors too, as far as they can be read.",
    "OPH-6":
      "A message that can be read is answered with 200, errors included; other statuses are for the transport, and have a response message too.",
    "OPH-7": "X-Correlation-ID and traceparent are honoured and go on.",
    "OPH-8": "The engine lists what it offers; capabilities that it does not know do no harm.",
    "OPH-9": "Every capability that was asked for and cannot be had is denied with a code.",
    "OPH-10": "Directives are given in a form that the shell said it can show.",
  }),
  ...section("OpenHarness", "§6 Shell", {
    "OPH-11": "What the shell says of itself is there for the agent.",
  }),
  ...section("OpenHarness", "§7 Authentication", {
    "OPH-12":
      "Identity comes from the transport; the body needs no secret, gives no rights, and nothing of its auth is kept or told.",
    "OPH-13": "What a key has no scope for is permission_denied, or not told.",
  }),
  ...section("OpenHarness", "§8 Privacy", {
    "OPH-14": "Public state is kept, restricted state is kept for those who may see what is internal.",
    "OPH-15": "Secret state is in no file, event, receipt, log or error; a descriptor with a keyed hash is.",
    "OPH-16":
      "The values of secret state are taken out of everything that the run records, and words of the record are not.",
    "OPH-17":
      "Secret state is held for its run, within bounds; when it is gone the run is told so, and can ask for it again.",
    "OPH-18": "Secret state is there inside of a step, and not for models unless the persona names it.",
  }),
  ...section("OpenHarness", "§9 Context", {
    "OPH-19": "A session_id and a conversation_id are one session of their tenant, made when first seen.",
    "OPH-20": "A user_intent, text or structure, becomes a message and a task.",
    "OPH-21": "task_hint names a persona or an agent; unknown is unknown_sop.",
    "OPH-22": "Attachments are references; embedded data is invalid_request.",
    "OPH-23":
      "ref_id and asset_id are artifacts that the caller may see, otherwise attachment_unavailable; a uri is passed on and not fetched.",
    "OPH-24": "Every response that is not final has a continuation, and a request with it resumes the run.",
    "OPH-25":
      "A token is good once, for its caller and its run, and not for ever; everything else is continuation_invalid, and takes nothing.",
    "OPH-26":
      "The engine answers when the run has ended, when it needs somebody, or after its deadline with noop.",
  }),
  ...section("OpenHarness", "§10 Directives", {
    "OPH-27": "What the agent says and makes is rendered, in the order of emission.",
    "OPH-28": "priority, execution, risk_tier, requires_user_approval and deadline_ms are as the agent says.",
    "OPH-29": "The outcome of a directive comes back with the next request and is recorded as a step, once.",
    "OPH-30": "What is open is told again, under the same id, until it is closed.",
    "OPH-31": "A question is answered by the next user_intent, and only the question that was shown.",
    "OPH-32":
      "An approval shows what is asked and its hash; only an answer that names the same hash decides it.",
    "OPH-33": "Where a signed approval is demanded, a shell can point to the approver and nothing more.",
  }),
  ...section("OpenHarness", "§11–§12 Action types", {
    "OPH-34": "Every directive that is not of a core type has a fallback_message.",
    "OPH-35": "A task without a shell has none to direct, and is told so clearly.",
  }),
  ...section("OpenHarness", "§13 Errors", {
    "OPH-36": "Every error has a code of the protocol and says whether a retry can help.",
    "OPH-37": "A run that failed or was canceled is an error, with what was said before.",
  }),
  ...section("OpenHarness", "§14 Metrics", {
    "OPH-38": "A response says how long the engine took.",
  }),
  ...section("OpenHarness", "§15 Streaming profile", {
    "OPH-39": "There are streams only when both sides have openharness.streaming and the shell asks for one.",
    "OPH-40": "Directives and progress come as they happen, numbered, and last the complete response.",
    "OPH-41": "Over a WebSocket requests are answered side by side, each with its frames and its response.",
  }),
  ...section("OpenHarness", "Idempotency", {
    "OPH-42": "The same request again has the same response, whoever waits for it meanwhile.",
    "OPH-43":
      "Another request under the same id is idempotency_conflict; what was refused may be sent again.",
    "OPH-44": "Responses, continuations and their single use survive a crash.",
  }),
  ...section("OpenHarness", "Robustness", {
    "OPH-45": "Whatever is sent, the answer is a response message.",
    "OPH-46": "Messages in the shape of the published examples are understood.",
  }),
];
