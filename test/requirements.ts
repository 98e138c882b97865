/**
 * The specification as data: each rule that a conforming server must keep, in our words, with where it comes from.
 * Tests cite the ids in their names; `test/requirements.test.ts` fails for one that nobody cites, and the conformance
 * tables in `docs/` are generated from this list.
 */

export interface Requirement {
  id: string;
  level: "Core" | "Extended" | "Receipts" | "Replay" | "Bridle" | "OPVS" | "HARP" | "OpenHarness";
  /** The section of the Harn Agents Protocol v1, of OPVS, of HARP, of OpenHarness, or of Bridle's own promises. */
  source: string;
  rule: string;
}

export function section(
  level: Requirement["level"],
  source: string,
  rules: Record<string, string>,
): Requirement[] {
  return Object.entries(rules).map(([id, rule]) => ({ id, level, source, rule }));
}

export const requirements: readonly Requirement[] = [
  ...section("Core", "Versioning", {
    "VER-1":
      "A request outside public discovery without the version header, or with an unknown version, gets 426 unsupported_protocol_version and the list of supported versions.",
    "VER-2": "Discovery, the agent card, health and the OpenAPI document need neither key nor version.",
    "VER-3": "Authentication is checked before the version.",
    "VER-4": "Unknown fields in request objects are ignored.",
  }),
  ...section("Core", "Resource model", {
    "RES-1":
      "Every top-level resource has id, object, created_at, updated_at and metadata; times are RFC 3339 UTC.",
    "RES-2": "An id is never given to a second resource.",
    "RES-3": "Stateful resources name their workspace.",
    "RES-4":
      "Lists have the list envelope, 1 to 200 items a page (50 by default), opaque cursors, newest first; messages and events oldest first.",
    "RES-5": "Walking a list by its cursors gives every resource exactly once, whatever the page size.",
  }),
  ...section("Core", "Session", {
    "SES-1":
      "A session can be created, read, listed, updated and closed; a closed session takes no more work.",
    "SES-2": "Messages keep their order inside a session.",
    "SES-3":
      "Truncation keeps the first N turns in place, cancels running tasks of dropped turns first, and deletes no event.",
    "SES-4": "A fork starts with the transcript up to an event, names its parent and root, and has a branch.",
  }),
  ...section("Core", "Task", {
    "TSK-1": "A submitted task is answered with 202 and is durable from then on.",
    "TSK-2": "A task names its session, workspace, status, input and creator.",
    "TSK-3": "A task moves only along the transition table.",
    "TSK-4": "Every transition emits task.status_changed and the event that names it, in one commit.",
    "TSK-5": "A task in a final state cannot be moved out of it.",
    "TSK-6": "Once CANCELED is recorded, no later success replaces it.",
    "TSK-7": "Canceling an ended task is a conflict; canceling a canceled one gives the same task again.",
    "TSK-8":
      "A message to a task in INPUT_REQUIRED answers it and resumes it; to an ended task it is an invalid state transition.",
    "TSK-9": "completed_at is set for COMPLETED and FAILED, canceled_at for CANCELED.",
    "TSK-10": "A completed task has exactly one outcome; failed and canceled ones have one too.",
    "TSK-11":
      "A task in AUTH_REQUIRED goes on when its permission request is answered, and is told the answer.",
  }),
  ...section("Core", "Branch, Message, Artifact", {
    "BRA-1": "Branches expose their lineage: workspace, kind, base, parent, session and task.",
    "MSG-1": "A message has a role and ordered parts; each part has a type of the protocol and a visibility.",
    "MSG-2": "Parts that a caller may not see are replaced by a descriptor with type and hash, not removed.",
    "ART-1":
      "An artifact can be registered and read; it has kind, media type, uri, visibility and, once its bytes are stable, their hash.",
    "ART-2": "The content of an artifact that the server holds can be downloaded and has the stated hash.",
  }),
  ...section("Core", "Discovery", {
    "DIS-1": "GET /v1 names the protocol family, the versions and the capabilities that are really served.",
    "DIS-2": "The agent card lists only transports that are served and says that it is unsigned.",
    "DIS-12": "The Receipt component refers to the normative schema, which the server serves.",
    "DIS-3": "/openapi.json describes every route, from the schemas that validate.",
  }),
  ...section("Core", "Event", {
    "EVT-1": "Events have id, event, resource, created_at, sequence and payload.",
    "EVT-2": "Event ids are the same in REST and SSE and sort in log order.",
    "EVT-3": "The sequence of a resource counts from 1 without gaps, and previous_event_id links its events.",
    "EVT-4": "Event ranges continue after an event id; each event is given once.",
    "EVT-5": "Durable resources can be rebuilt from events: refolded documents equal the stored ones.",
  }),
  ...section("Core", "Server-sent events", {
    "SSE-1": "Each frame has id, event and data; data is the event as JSON.",
    "SSE-2":
      "A stream resumed by Last-Event-ID or after_event_id continues exactly: nothing lost, doubled or reordered.",
    "SSE-3":
      "A cursor that the log does not have gets one error frame with cursor_expired and a closed stream.",
    "SSE-4": "A stream sends history first and then live events, without gap or duplicate.",
    "SSE-5": "The stream of one task ends after its terminal event.",
    "SSE-6": "Streams of a task, a session and everything show only what belongs there.",
    "SSE-7": "A consumer that does not read cannot make the server buffer without bound.",
  }),
  ...section("Core", "Authentication and authorization", {
    "AUT-1": "Without a valid API key every non-public route answers 401 unauthenticated.",
    "AUT-2":
      "API keys are bound to actor, tenant, workspaces and scopes; a missing scope is 403 permission_denied.",
    "AUT-3": "What belongs to another tenant or workspace is 404, exactly as if it did not exist.",
    "AUT-4": "API keys are kept as hashes and never appear in events, errors, logs or database files.",
    "AUT-5": "A revoked or expired key stops working at once.",
  }),
  ...section("Core", "Idempotency", {
    "IDM-1":
      "A repeated write with the same key and an equivalent body gives the first answer's status and body and creates nothing.",
    "IDM-2": "The same key with another body is 409 idempotency_key_reused.",
    "IDM-3": "Concurrent duplicates wait for the first and get its answer.",
    "IDM-4": "Idempotency records survive a restart.",
    "IDM-5": "A key counts per actor and API key, workspace, method and target.",
  }),
  ...section("Core", "Error taxonomy", {
    "ERR-1":
      "Errors have code, message, type, param, request_id and details; the request id is also in X-Request-Id.",
    "ERR-2":
      "Malformed JSON, wrong types, missing fields and unknown enum values are invalid_request, name the field and change nothing.",
    "ERR-3": "A body that is too large is 413 payload_too_large; a wrong media type is refused.",
    "ERR-4": "Unknown ids and routes are resource_not_found; bad cursors are refused.",
    "ERR-6": "What another request holds is 423 resource_locked, with Retry-After.",
    "ERR-5":
      "Each error code has one HTTP status (a wrong media type keeps HTTP's own, 415) and a page that explains it.",
  }),
  ...section("Core", "Crash rules", {
    "CRA-1": "After kill -9 at any moment every accepted task is found again and driven on.",
    "CRA-2": "No event is lost, doubled or reordered by a crash.",
    "CRA-3": "A stream resumed after a crash continues exactly after its last id.",
    "CRA-4": "An idempotent retry after a crash gets the original answer.",
    "CRA-5":
      "Nothing is acknowledged before it is on disk: a crash just before the commit loses only what was not answered, a crash just after it loses nothing.",
    "CRA-6":
      "A run whose process ends at any commit, once or again and again, comes to the same end; what must not happen twice does not, and the task says so where its outcome cannot be known.",
  }),
  ...section("Receipts", "Receipts", {
    "RCP-1":
      "Every task that ended, however it ended, has a receipt that meets the receipt schema with no extra field; GET /v1/receipts/{id} is the receipt itself.",
    "RCP-2":
      "A receipt is built from the log: identifiers, lifecycle, final state, trust tiers, consumption, artifacts with hashes, steps, hand-offs, replay materials with hashes.",
    "RCP-3": "Task, Outcome, Event and Artifact name the receipt.",
    "RCP-4":
      "An approval decision has a receipt of its own with the evidence hash, and the task's receipt lists it.",
    "RCP-5":
      "The hash is RFC 8785 without chain.receipt_hash and signatures, SHA-256; the Ed25519 signature is over the prefixed hash, by a key in /.well-known/jwks.json.",
    "RCP-6":
      "The receipts of a workspace form one chain in commit order, also when many tasks complete at once.",
    "RCP-7":
      "merkle_root is the RFC 6962 root over the chain before the receipt; inclusion proofs hold against the chain of today or of any earlier size.",
    "RCP-8": "Verification reports each check by name, with what was expected and found.",
    "RCP-9":
      "A receipt from anywhere can be verified; any change is caught, the order of keys does not matter, ambiguous JSON is refused.",
    "RCP-10":
      "The signing key can be rotated; old receipts still verify; private keys are their owner's only.",
    "RCP-11": "A receipt is also served as deterministic CBOR of the same model.",
    "RCP-12": "After kill -9 the chain continues without a gap or a fork.",
    "RCP-13": "Receipts need the scope receipts:read; another tenant's are not found.",
    "RCP-14": "A persona whose receipt policy is disabled leaves no receipt.",
    "RCP-15": "Receipts are listed by workspace, session and task, newest first, with cursors.",
    "RCP-16":
      "side_effects.network_egress lists, for each step that sent something, where it went, over which protocol and how often; no paths, no content.",
    "RCP-17": "identifiers.trace_id is the trace that the task came with, or else the task's own.",
    "RCP-18":
      "model_route is that of the recorded calls, also of models that agent code declares; a replay says that it was replayed.",
    "RCP-20":
      "POST /v1/receipts issues the receipt of an outcome, an event, an artifact or a tool call into the same chain; the same subject has one receipt.",
    "RCP-19":
      "A receipt of another harness with signed_at in a signature can be valid; that nothing proves signed_at is said by name.",
  }),
  ...section("Receipts", "Privacy and redaction", {
    "RED-1":
      "Whatever a caller sends, nothing that looks like a credential is stored, answered, streamed, logged or put into a receipt or error.",
    "RED-2": "What agents produce is treated the same way, including the value of a secret step.",
    "RED-3":
      "A descriptor stands in the place of what was taken out, the rest stays as it was, and the receipt lists it.",
    "RED-4": "The server's own secrets are in no output, log line or file but their own.",
  }),
  ...section("Replay", "Replay contract", {
    "RPL-1":
      "Replay creates a new task with parent_task_id in the same session and workspace, with normal lifecycle events.",
    "RPL-2":
      "exact repeats the run from the log alone and never calls a step, asks a person, spawns a task, sleeps or waits.",
    "RPL-3":
      "with_overrides puts given values in the place of recorded ones, by keys of every documented form, inline or from an artifact.",
    "RPL-4":
      "Each substitution is a receipt delta with key, path and before/after hashes; secrets have neither value nor hash anywhere.",
    "RPL-5": "from_checkpoint restores up to the checkpoint and replays what came after.",
    "RPL-6":
      "What the log cannot supply ends the replay, naming the first missing step, unless the request allows its kind to be live; then the receipt says so.",
    "RPL-7": "Replayed events are marked on REST and SSE, name their originals and carry a usable cursor.",
    "RPL-8": "The same source and overrides give byte-identical canonical receipts.",
    "RPL-9": "Session replay streams the history as replayed events with their original ids.",
    "RPL-10": "Bad input has its own error and creates nothing.",
    "RPL-11": "A replay survives kill -9; its events are neither doubled nor lost.",
    "RPL-12": "The replay receipt hangs on its source's receipt and verifies.",
    "RPL-13": "A replay leaves the conversation alone.",
    "RPL-14": "Replay honours Idempotency-Key.",
    "RPL-15": "Replaying 10,000 recorded steps takes seconds at most, and memory stays flat.",
    "RPL-16":
      "A replay runs the version of the agent that ran then, or another one when the request names it; the receipt says which.",
    "RPL-17": "A replay can be replayed: with its values again, and those of the request.",
    "RPL-18":
      "An override of a model call takes a text, a provider's response or a recorded answer, and nothing else.",
    "RPL-19":
      "Deltas are ordered by key and name the event of the request; times are kept as they were written; the receipt's task can be read.",
  }),
  ...section("Replay", "Logs on other servers", {
    "TRF-1": "A session's log can be exported and imported under the same ids.",
    "TRF-2":
      "The same source and overrides give byte-identical canonical receipts on a server that imported the log.",
    "TRF-3": "Import is all or nothing; a log that is not what its receipts say is refused.",
    "TRF-4": "Imported tasks do not run again, and the importing server's own chain goes on.",
  }),
  ...section("Bridle", "Command line", {
    "CLI-1":
      "bridle receipt verify judges a receipt offline, prints each check, and exits 1 when it is not valid.",
    "CLI-2": "bridle receipt export writes a workspace's chain as a bundle that verifies alone.",
    "CLI-3": "bridle replay shows the two runs' steps, outputs and costs side by side.",
    "CLI-4":
      "bridle replay --fixture writes a run that node --test replays without server, model or network.",
    "CLI-5":
      "bridle check replays stored histories against the code on disk and exits 1 if any would diverge, naming the first differing step.",
    "CLI-6": "bridle keys turns and lists the signing keys.",
    "CLI-7": "Errors are one clear line with the right exit code; every command has help.",
    "CLI-8": "bridle serve --agents loads agents from modules.",
    "CLI-9":
      "Commands find the server of their project and its key; the address of a dead server is not used.",
    "CLI-11": "A Node.js that is too old is told so, in a line.",
    "CLI-10": "With --json errors are JSON as well, with their code and the page that explains them.",
  }),
  ...section("Bridle", "Projects", {
    "PRJ-1":
      "bridle.config.ts has every setting of bridle serve; a flag beats the environment, that beats the file, and that the default.",
    "PRJ-2":
      "A configuration that is wrong is refused in one line that names the file and the property, with the name that was meant.",
    "PRJ-3":
      "The modules in agents/ beside the configuration are loaded as they are; of several versions of an agent, new tasks get the newest.",
    "PRJ-4":
      "Personas of the configuration are made when they are absent and changed when they are different.",
    "PRJ-5":
      "bridle dev loads agents again when they, or anything that they import, change, without a restart.",
    "PRJ-6": "A task goes on with the very code that it started with while the process lives, parked or not.",
    "PRJ-7":
      "Code that cannot be loaded is reported in one line with file and line, and what was loaded before goes on.",
    "PRJ-8":
      "A new file adds its agents; those of a file that is gone take no new tasks, and open ones go on.",
    "PRJ-9": "Input that is not what the agent takes is refused when it is submitted, naming the field.",
    "PRJ-10": "bridle dev takes the next free port when the usual one is taken.",
    "PRJ-11": "bridle dev says once that code changed under the same version.",
    "PRJ-12":
      "What an agent's code throws is logged with the place; bridle dev says how to talk to its agents.",
  }),
  ...section("Bridle", "Runtime", {
    "RUN-1":
      "Recovery re-runs the agent; recorded steps give their recorded result and are not executed again.",
    "RUN-2":
      "Code that no longer asks for the recorded steps fails with nondeterministic_run, naming recorded and attempted step.",
    "RUN-3": "A task keeps the agent version that started it; several versions can be loaded.",
    "RUN-4": "A run that only waits is dropped from memory and run again when its answer arrives.",
    "RUN-5": "Runs are bounded in number and fair between sessions.",
    "RUN-6": "Cancellation reaches the running agent through its signal, and its children.",
    "RUN-7": "Every wait has a deadline that is enforced, and the task says what it waits for.",
    "RUN-8":
      "A spawned child runs in the same session and its result comes back to the parent, also across a restart.",
    "RUN-9":
      "The rehearsal agent puts a task into every state; unknown instructions fail the task naming the line.",
  }),
  ...section("Bridle", "Store", {
    "STO-1": "Of two batches that expect one version, exactly one wins; the other writes nothing.",
    "STO-2": "Batches that arrive together share a commit and still succeed or fail alone.",
    "STO-3": "Content over a few KB is stored once under its hash; a conversation of n turns costs O(n).",
    "STO-4":
      "A follower that switches from history to live sees every event once, in order, however slow it is.",
    "STO-5": "Two servers on one data directory are refused with a clear message.",
    "STO-6":
      "A search finds the documents that have all its words, best first; nothing in it is a query language, and it keeps up with every change.",
    "STO-7":
      "Events can be rewritten or removed and blobs dropped in place; everything else keeps its place, and a blob that is spoken of stays.",
    "STO-8":
      "Documents with a rank are listed by it, narrowed by what they are found by, in stable pages, with their number.",
    "STO-9":
      "A document that is part of the event that created it need not be stored twice; it reads as any other, whatever becomes of the event.",
    "STO-10":
      "Payloads of a common form take a fifth of their room in the log, and are read exactly as they were written.",
    "STO-11":
      "What is committed is copied from the write-ahead log to the database beside the commits, which do not wait for it.",
  }),
  ...section("Bridle", "Operation", {
    "OPS-1":
      "The server starts with one command, says URL, data directory and key, and is ready in under 2 seconds.",
    "OPS-2": "The generated key is stored with mode 0600 and shown once.",
    "OPS-3":
      "Ctrl-C drains: new work gets 503 service_unavailable, running steps get a grace period, the log is closed.",
    "OPS-4": "A second start on the same data directory continues where the first stopped.",
    "OPS-5": "Unknown flags and bad values are one-line errors with exit code 2.",
    "OPS-6": "Settings come from flags and environment under the same names.",
  }),
  ...section("Extended", "OAuth2 client credentials", {
    "OAU-1": "An API key is a client that gets short-lived signed tokens at POST /oauth/token.",
    "OAU-2": "Refusals there are the errors of RFC 6749; they quote nothing and are not stored.",
    "OAU-3": "A token has some or all of its key's scopes, and can never do what its key cannot.",
    "OAU-4":
      "A token ends with its time and with its key; it survives a restart and the turning of signing keys.",
    "OAU-5":
      "Issuer, audience, expiry, signature, algorithm, type and client of our own tokens are each checked.",
    "OAU-6":
      "Tokens of configured issuers are accepted; their claims name actor, tenant, scopes and workspaces.",
    "OAU-7": "Each check of them fails alone, with 401 unauthenticated that does not say why.",
    "OAU-8":
      "Issuers' keys are fetched rarely, within bounds of size and time, and never for every token that asks for it.",
    "OAU-9": "RFC 8414 metadata says where the token endpoint and the keys are.",
  }),
  ...section("Extended", "Authorization of every operation", {
    "AZN-1": "Without a key every operation that is not public is 401.",
    "AZN-2": "Without its scope every operation is 403 and names the scope.",
    "AZN-3":
      "From another tenant or another workspace, everything that is named is the 404 of what never was; lists show nothing of it.",
    "AZN-4":
      "What concerns the whole server or tenant is not for keys bound to workspaces or of other tenants.",
  }),
  ...section("Extended", "API keys", {
    "KEY-1": "Nobody makes a key that can do more, or lasts longer, than their own.",
    "KEY-2": "Keys are listed, read and revoked by those who may see them; a revoked key stays listed.",
  }),
  ...section("Extended", "Signed agent card", {
    "CRD-1":
      "The card is signed over its RFC 8785 form; algorithm and key id are stated, the key is published.",
    "CRD-2": "Equal agents have an equal card with an ETag, across requests and restarts.",
    "CRD-3": "The card says how to authenticate and nothing about tenants.",
  }),
  ...section("Bridle", "HTTP", {
    "SEC-1": "Every answer carries security headers; what needs a key is never stored by caches.",
    "SEC-2": "Other origins may use the API only when they are configured, exactly and without cookies.",
    "SEC-3":
      "An address that keeps presenting wrong credentials is told to wait with 429; good keys there keep working.",
    "SEC-6": "Requests of one key are limited on all protocols together, with RateLimit headers and 429.",
    "SEC-4": "X-Forwarded-For counts only from proxies that are configured.",
    "SEC-5": "A stream ends, and says why, when the credentials that it was opened with no longer hold.",
  }),
  ...section("Extended", "Memory", {
    "MEM-1":
      "A memory has a scope, an owner that exists, content and a provenance; it can be created, read, listed and deleted.",
    "MEM-2":
      "Memories are listed by scope, owner, workspace and session; what belongs to another tenant or workspace is not there.",
    "MEM-3": "A memory that has expired is seen by nobody from that moment on, and its deletion is recorded.",
    "MEM-4":
      "Memories are searched by words, best first, page by page; a search never fails and never tells what is internal.",
    "MEM-5":
      "What runs read and write is told by agent.memory_read and agent.memory_write, and is no part of the transcript.",
    "MEM-6":
      "A repeated run, a replay too, is given what it once read and writes nothing twice, also after kill -9.",
    "MEM-8":
      "Members that redaction_policy names are in nothing that agents, searches and callers without events:read_internal get.",
    "MEM-7": "A session can be given memories that its runs may read beside their own.",
  }),
  ...section("Extended", "Branch", {
    "BRA-2":
      "A branch can be changed and merged; a merge copies no message, and its events name the tips of both sessions.",
    "BRA-3":
      "A branch is merged or abandoned once, inside its workspace, never into what came of it; after that it takes no more work.",
  }),
  ...section("Extended", "Skill and Tool", {
    "SKL-1": "The skills of loaded agents are listed with the schemas of their code.",
    "SKL-2": "Skills can be registered, changed and deleted; their schemas must be JSON Schema.",
    "SKL-3":
      "A session can be given skills; the input of a task that names a skill of its agent is what the skill takes.",
    "TOL-1": "The tools that loaded agents declare are listed with their schemas.",
  }),
  ...section("Extended", "Connector", {
    "CON-1": "Connectors can be created, read, changed and deleted inside their workspace.",
    "CON-2":
      "The signing secret of a connector is shown once and kept sealed; it is in no answer, event, log or file.",
    "CON-3": "A signed delivery becomes a task of the connector, in one commit with the events that say so.",
    "CON-4":
      "A delivery without a right and recent signature is 401, whether or not the connector exists, and leaves no trace.",
    "CON-5": "A delivery that comes again, also at the same time, is answered with the first one's task.",
    "CON-6":
      "Deliveries of other kinds are recorded as ignored; what is refused is recorded as failed and can be sent again.",
    "CON-7":
      "Every delivery is one task, whenever the server is killed and however often the sender repeats it.",
    "CON-8":
      "GitHub's deliveries are known by X-Hub-Signature-256 and their bytes, and normalized; whose secret it is follows from the provider.",
    "CON-9":
      "Slack's events and slash commands are known by its signature and time, and its challenge is answered.",
    "CON-10": "A polling connector asks its URL through the guarded way out; every item is a delivery once.",
    "CON-11": "A connector emits tasks, messages or events.",
    "CON-12":
      "Five failures in a row make a connector FAILED, with the reason, and the first success ACTIVE again.",
  }),
  ...section("Extended", "WebSocket", {
    "WSK-1":
      "A session's WebSocket begins with hello, in time, and is answered with ready; nothing else is taken before it.",
    "WSK-2":
      "Every command frame is the command of REST: acknowledged with the same resource, refused with the same error under the frame's id, in the order sent, inside the session of the connection.",
    "WSK-3":
      "Events are those of REST, in order; a client that resumes with its last event sees each event once, and history is marked as replayed.",
    "WSK-4": "A cursor that the log cannot continue from gets cursor_expired and the connection is closed.",
    "WSK-5":
      "Text that is no frame gets an error and the connection goes on; a binary frame closes it with 1003, one that is too large with 1009.",
    "WSK-6": "An idempotency_key on a command frame works as the header does.",
    "WSK-7":
      "Questions and permission requests reach every client of the session, those that come later included while they are open; the first answer counts.",
    "WSK-8":
      "Credentials come as a header or as a subprotocol that is never said back; a key in the address is refused; bad ones are 401 and what the caller may not see is 404, before the upgrade.",
    "WSK-9": "A ticket opens one connection, soon after it was made, with the rights that its key has then.",
    "WSK-10": "Event streams can be upgraded and send the same events; a task's stream ends with its task.",
    "WSK-11": "A client that does not read costs no memory that grows, and gets everything once it reads on.",
    "WSK-12": "Connections are pinged; one that shows no sign of life is ended.",
    "WSK-13": "Connections end when their key is revoked, and with 1001 when the server stops.",
    "WSK-14": "A thousand idle connections are served by one process, each for little memory.",
  }),
  ...section("Extended", "Host mediation", {
    "HST-1":
      "A host call is offered to exactly one connected host that can do it, and the agent is given the result or the error.",
    "HST-2":
      "The first result of a host call counts; a later one is a conflict, and from another session the call is not there.",
    "HST-3": "A call whose host goes away is offered to the next that can do it, and still ends once.",
    "HST-4": "An open host call survives the death of the server.",
    "HST-5":
      "A task that waits for a host says so and until when; after that the step fails. Open calls are bounded.",
    "HST-6": "A replay takes host results from the log or from an override and asks no host.",
    "HST-7":
      "Being a host needs the scope for writing tasks; what goes to a host and comes back is internal content, without credentials.",
  }),
  ...section("Extended", "Vaults", {
    "VLT-1":
      "Vaults are created, read and listed without what they hold; secrets are set, listed by name, and deleted as their capabilities allow.",
    "VLT-2":
      "The value of a secret is in no answer, event, receipt, export, log line, file or idempotency record, whatever a run does with it.",
    "VLT-3":
      "ctx.secret reads from the session's vaults in their order, then the workspace's, then the tenant's, never from another workspace's, and the log says that it did.",
    "VLT-4":
      "A secret that is not there fails the step with secret_unavailable, names no other, and fails again when the run is repeated.",
    "VLT-5":
      "The master key can be rotated while the server runs; a crash at any moment loses no secret, and the next start finishes the rotation.",
    "VLT-6": "A vault's data key can be rotated; its secrets are encrypted again.",
    "VLT-7":
      "With a wrong, missing or damaged master key the server is ready, warns once, and refuses what needs the key with a clear error.",
    "VLT-8":
      "What is encrypted opens only with its own key, in its own tenant, vault, name and version, unchanged.",
    "VLT-10":
      "Vaults of the providers env and file give what the operator offers, in the default tenant only; hashicorp reads KV version 2 with a token or an AppRole.",
    "VLT-11":
      "A vault keeps every capability that it is made with; secrets of other providers are not changed here.",
    "VLT-9":
      "Vaults of other tenants and workspaces are not there; a key bound to workspaces does not change a tenant's vaults.",
  }),
  ...section("Extended", "Workspace files", {
    "FIL-1":
      "Text files of a workspace are written, read and listed; what is no text, too large or no file is its own error.",
    "FIL-2": "Paths that are absolute, lead upwards, or are special on some system are refused.",
    "FIL-3": "Symbolic links do not lead out of a workspace, neither for reading nor for writing.",
    "FIL-4": "A file is replaced whole; the last event about it is about what is there.",
    "FIL-5":
      "Every write is in the log with its hash; writes of a run are in its receipt, and are subject to its persona.",
    "FIL-6":
      "What a run has read or written is the same when the run is repeated, whatever has become of the file.",
    "FIL-7": "Files of other tenants and workspaces are not there.",
    "FIL-8":
      "A workspace's root is a path of the machine only inside directories that the operator allows, and only for the server's own tenant.",
  }),
  ...section("Extended", "Artifact content", {
    "UPL-1": "Uploaded bytes are hashed as they arrive and given back as they were.",
    "UPL-2": "Downloads answer single ranges, If-Range, If-None-Match and HEAD.",
    "UPL-3":
      "Uploads beyond the limit are 413; with a wrong hash, scope or place they are refused, and nothing is kept.",
    "UPL-4":
      "An upload that is cut off, by its client or by a crash, leaves nothing behind; every artifact that is listed has its content.",
    "UPL-5": "Neither direction holds the content in memory.",
  }),
  ...section("Extended", "Compaction", {
    "CMP-1":
      "Compaction folds all but the last turns away behind a summary; the session says which events and artifacts they are, and all of them stay readable.",
    "CMP-2": "A turn that an unfinished task belongs to is not folded away, nor any after it.",
    "CMP-3": "Forks and truncations work over compacted sessions; a fork from before a compaction is whole.",
  }),
  ...section("Extended", "Erasure", {
    "ERA-1":
      "Erasing a session replaces its content by descriptors in lists, streams and documents; ids, kinds, times and order stay.",
    "ERA-2":
      "After an erasure no file of the data directory holds the content, whatever the process died of.",
    "ERA-3": "Receipts of erased work still verify, with their chain and proofs.",
    "ERA-4":
      "What runs in an erased session is canceled; it takes nothing new, is not exported, and a replay names what is missing.",
    "ERA-5": "Only an administrator of the tenant erases; others hear the same as for what is not there.",
  }),
  ...section("Extended", "Retention", {
    "RET-1":
      "What ended before the retention period leaves the log with its content; the task's record stays without content, its receipts stay whole and verify.",
    "RET-2":
      "A cursor before something that has left the part of the log it reads gets cursor_expired, never a silent gap; without a cursor reading begins with what is left.",
    "RET-3": "Work that has not ended keeps everything, however old, and content that others share stays.",
    "RET-4": "After a trim, also one cut short by a kill, every document is still the fold of the log.",
    "RET-5": "bridle gc says what would go, or lets it go; only whoever runs the server may.",
  }),
  ...section("Extended", "Personas", {
    "PER-1": "Every change of a persona is a new version; a task keeps the one it was submitted under.",
    "PER-2":
      "A side effect is noted, proposed or done as the persona's autonomy says; the receipt says which.",
    "PER-3": "An effect that needs approval is carried out once, after it was given, also across a crash.",
    "PER-30":
      "rollout_policy gives a share of the sessions the new version, always the same ones, and the others the baseline; another form is refused.",
    "PER-31":
      "context_packs name texts of the project; the agent is given those and no others, and what it was given is recorded by hash.",
    "PER-4": "What a persona's lists of tools, hand-offs and models do not allow is a step that failed.",
    "PER-5": "The policy holds however a task came, and a child acts no more freely than its parent.",
    "PER-6": "The receipt policy says whether a task leaves a receipt.",
    "PER-7": "Personas are the tenant's: bound keys cannot change them, other tenants do not see them.",
    "PER-8":
      "A persona that acts by itself asks from the risk on that it names; of parent and child the one that asks sooner counts.",
  }),
  ...section("Extended", "Quotas", {
    "QUO-1": "Limits of persona, workspace, tenant and organization are exact under concurrency.",
    "QUO-2": "A child that a quota does not admit is a failed step of its parent, never a deadlock.",
    "QUO-3":
      "Tasks that count against several quotas end in bounded time, in whatever order they come to them.",
    "QUO-4": "A hard limit ends the task with its work kept; quota, events and receipt say why.",
    "QUO-5":
      "A limit that asks lets the task go on when approved and ends it when denied, also across a crash.",
    "QUO-6": "A soft limit refuses nothing and says when it is passed.",
    "QUO-7": "What counts is exact: sums of money, and tasks that ran before a limit was added.",
    "QUO-8":
      "A rate limit answers 429 with Retry-After and RateLimit headers; a repeated request counts once.",
    "QUO-9": "When a window is over, what was used in it counts no more.",
    "QUO-10": "Quotas are the tenant's: bound keys cannot change them, other tenants do not see them.",
    "QUO-11": "Nothing is lost or counted twice by a crash, and nothing stays reserved once all has ended.",
  }),
  ...section("Extended", "Schedules", {
    "SCH-1": "A tick has one task, also across a restart; ticks that passed meanwhile are one.",
    "SCH-2": "A refusal is recorded and holds up neither the next tick nor other schedules.",
    "SCH-3": "A schedule that cannot be is refused by the name of its field.",
    "SCH-4": "Ticks follow the clocks of the schedule's time zone.",
  }),
  ...section("Bridle", "Branches side by side", {
    "PAR-1": "Code whose branches run side by side is repeated exactly, whatever they do.",
    "PAR-2": "A server killed while such code runs takes it up and brings it to its end.",
  }),
  ...section("Bridle", "Durable cursor", {
    "DCU-1":
      "Plain clients never see it; for those who ask for the extension, the task and every event of a stream say which event of the log they are.",
    "DCU-2":
      "A subscription that names an event goes on right after it, wherever the connection was cut, also when the task has ended meanwhile.",
    "DCU-3": "That holds across a server that was killed in the middle.",
    "DCU-4": "What cannot be an event of this server is refused, and a gap that retention made is said.",
  }),
  ...section("Bridle", "Messages sent again", {
    "DED-1":
      "The same message again, at once or later, sent or streamed, is the same task, also after a restart.",
    "DED-2": "Another message under the same id, or the same from another tenant, is other work.",
    "DED-3": "An answer that is sent again answers no other question.",
    "DED-4":
      "Who waits for an answer when the server stops is told to send the same again, and then gets the same task.",
  }),
  ...section("Bridle", "Scopes of those who follow", {
    "SCO-1":
      "A stream tells a caller no more than reading would: messages and artifacts need their own scopes.",
  }),
  ...section("Bridle", "Contexts that clients name", {
    "CTX-1": "A name that a client made up for a context is kept, and what uses it is one conversation.",
    "CTX-2":
      "The same name from another tenant, or from a key for other workspaces, is another conversation.",
  }),
  ...section("Bridle", "Traces", {
    "TRC-1": "An answer to a call with a trace, also a refusal, names the trace with a span of its own.",
    "TRC-2": "A malformed trace is ignored.",
    "TRC-3": "The trace is kept with the task, across restarts, and its children inherit it.",
  }),
  ...section("Bridle", "Hand-offs", {
    "HND-1":
      "Work for a remote agent goes through the first interface of its card that is known, and its result comes back.",
    "HND-2": "What a remote asks is asked here, and the answer goes to the same remote task.",
    "HND-3": "An authorization that a remote needs is asked for here; the task goes on when the remote does.",
    "HND-4": "A crash at any stage goes on with the same message and the same remote task.",
    "HND-5": "A task that is canceled cancels what remotes do for it.",
    "HND-6": "Where keys are trusted, a card that none of them signed gets no work.",
    "HND-7": "Credentials come from a vault, go to the remote alone, and are never written down.",
    "HND-8": "Hand-offs obey the persona's list, its autonomy and the quotas.",
    "HND-9": "A replay never calls a remote.",
    "HND-10": "The receipt names the remotes; receipts of both sides form a delegation that can be checked.",
    "HND-11":
      "A remote that is away is tried again until its deadline; then the step fails and the remote is told.",
    "HND-12": "Work for a persona or an agent that is loaded here is a child task.",
    "HND-13": "A remote that is no agent, or means harm, fails the step with a reason.",
    "HND-14": "Hand-offs are erased with their session, and go on only where they were begun.",
  }),
  ...section("Bridle", "gRPC", {
    "GRP-1":
      "The operations are served under both names of the service, with the results of the other bindings.",
    "GRP-2": "Streams have every event in its order, over gRPC and gRPC-Web alike.",
    "GRP-3": "Refusals have the protocol's status, and details that programs can read.",
    "GRP-4": "Credentials are those of the other bindings, and are asked for before a message is read.",
    "GRP-5": "Service parameters come as metadata, and what came of them is said in the answer's.",
    "GRP-6": "A service speaks one version of the protocol and refuses the others by name.",
    "GRP-7": "The official client can do all it does elsewhere, in version 1.0 and 0.3.",
    "GRP-8": "Clients of 0.3 get the semantics and the spelling of 0.3.",
    "GRP-9": "The health service tells load balancers, without credentials, whether work is taken.",
    "GRP-10": "Deadlines are the server's to keep; one that is too far away is none.",
    "GRP-11": "A client that leaves ends its own call and nothing else.",
    "GRP-12": "A server that stops ends its calls with UNAVAILABLE.",
    "GRP-13": "A stream ends with the credentials that it was opened with.",
    "GRP-14": "Messages up to the limit come through, compressed or not; larger ones are refused.",
    "GRP-15": "What is no message, or says what JSON cannot, is refused and changes nothing.",
    "GRP-16": "Nothing is kept in memory for clients that do not read, and nothing of those that left.",
    "GRP-17": "HTTP/2 and HTTP/1.1 share the port; whatever else comes is turned away.",
    "GRP-18": "Unknown methods are UNIMPLEMENTED.",
    "GRP-19": "Browsers may use gRPC-Web from the origins that are allowed, and from no others.",
    "GRP-20": "Failures to authenticate are counted by the caller's address, also behind trusted proxies.",
    "GRP-21": "Port and certificates are settings; what cannot be is one line and an exit code.",
    "GRP-22": "With a certificate both ports speak TLS only.",
  }),
  ...section("Bridle", "Agent cards", {
    "CRD-4":
      "Every loaded agent has a card at each of its addresses, made from what is loaded and without anything empty; an agent that is not there is 404.",
    "CRD-5":
      "Cards of 1.0 are signed so that the specification's rule and the official library's give the same text.",
    "CRD-6":
      "A card is believed only when an asymmetric key that has not ended signed it; the key set says which have.",
    "CRD-7": "A card that did not change is 304 for those who have it, in the version that they have.",
    "CRD-8": "Who speaks 0.3, or does not say, gets the old shape with all interfaces beside it.",
    "CRD-9":
      "The extended card is for known callers and tells each what it may see of personas and skills, and no more.",
    "CRD-10": "A card that cannot be is refused when the agent is defined, by the name of what is wrong.",
  }),
  ...section("Bridle", "Public agents", {
    "PUB-1":
      "An agent that is declared public works without credentials, as an anonymous actor in a workspace of its own; no other agent does.",
    "PUB-2":
      "At a public agent a valid key works as itself, and a wrong one is refused and not taken for anonymous.",
    "PUB-3":
      "Calls without credentials are limited per agent and address; beyond that they are 429 with Retry-After, and nothing is done.",
    "PUB-4": "Anonymous callers see nothing of the tenant, and of each other only what they can name.",
    "PUB-5": "A quota of the public workspace bounds what anonymous callers can have done.",
    "PUB-6": "A server without public agents has nothing for anonymous callers.",
  }),
  ...section("Bridle", "Clients of OPVS 0.3", {
    "VCP-1": "What 1.0 says and 0.3 has words for survives the way there and back, in both forms of 0.3.",
    "VCP-2":
      "A request of 0.3 is read in every spelling its clients use; what is wrong is refused by its name.",
    "VCP-3": "A refusal is a code, a message and an object for 0.3, and says no more than it does for 1.0.",
    "VCP-4": "The official client of 0.3 carries out every operation, over JSON-RPC and over REST.",
    "VCP-5":
      "A call is answered in the version it came in; one that mixes versions is refused, unless that is allowed.",
    "VCP-6": "Streams of 0.3 end with a final event; following a task that has ended gives its end.",
    "VCP-7": "A webhook that was registered by 0.3 is told in 0.3, whoever changes the task.",
    "VCP-8": "Tenants, credentials and limits hold for 0.3 as they do for 1.0.",
  }),
  ...section("Bridle", "Webhooks", {
    "PSH-1":
      "A webhook is told everything about its task from its registration on, in order and at least once, also when the server is killed at any moment.",
    "PSH-2":
      "What a webhook does not take is tried again, later each time, until it is given up; 410 ends it at once. Neither the task nor other webhooks wait for it.",
    "PSH-3":
      "A webhook that was deleted, or whose key has ended, hears nothing more, also when it was just being tried; deleting twice is deleting once.",
    "PSH-4":
      "A webhook registered again under the same name takes the place of the first and goes on where that was, also after it was given up.",
    "PSH-5":
      "A webhook is sent the token and the credentials that it was registered with; for a scheme without credentials, a short-lived token that anybody can verify with the published keys.",
    "PSH-6":
      "Token, credentials and secrets in the URL of a webhook are in no answer, event, log line or file, and are destroyed once nothing is left to tell.",
    "PSH-7": "Who sees a task sees its webhooks; others hear the same as for a task that is not there.",
    "PSH-8": "What cannot be a webhook is refused by the name of its field, and changes nothing.",
    "PSH-9":
      "Webhooks end with the erasure of their session, leave with their trimmed task, stay out of exports and follow the master key.",
    "PSH-10":
      "How telling a webhook goes is visible: its state, attempts, last error and how far it was told.",
  }),
  ...section("Bridle", "Requests to others", {
    "SSR-1":
      "A request to an address that others chose goes to public addresses only, however they are written.",
    "SSR-2": "Every address of a name is checked, and the connection goes to one that was.",
    "SSR-3": "Only https URLs without credentials are asked, and redirects are not followed.",
    "SSR-4": "Time and size of an answer are bounded.",
    "SSR-5": "A failure names neither the URL nor what its name resolved to.",
    "SSR-6": "Private addresses and plain http are allowed by a setting that is off by default.",
    "SSR-7": "Libraries get the same guard as a fetch, with bodies that stream.",
  }),
  ...section("Bridle", "Tools", {
    "TOL-1": "A tool says what it does to the world; one that is wrong is refused when it is defined.",
    "TOL-2": "What a tool is given and what it gives is checked against its schemas.",
    "TOL-3":
      "A call ends with its time or its task, at once, and what its function comes to afterwards is told once.",
    "TOL-4":
      "The tools that ask the web go to public addresses only, through redirects as well, and give bounded text.",
    "TOL-5": "The tools for files reach the task's workspace only, and write as agents do.",
    "TOL-6":
      "A program runs only if the operator names it: without a shell, in the workspace, bounded, and nothing of it outlives the call.",
  }),
];
