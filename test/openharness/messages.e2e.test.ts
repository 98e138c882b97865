/** Envelopes: versions, ids, capabilities, who calls, and what is said when something is wrong. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import {
  continued,
  directiveOf,
  directivesOf,
  errorOf,
  everything,
  message,
  ownOf,
  path,
  runOf,
  Shell,
  textsOf,
  typesOf,
} from "./wire.ts";

let server: TestServer;
let shell: Shell;

before(async () => {
  server = await startServer({ config });
  shell = new Shell(server);
});
after(() => server[Symbol.asyncDispose]());

describe("§3 versions", () => {
  test("OPH-1, OPH-2 any version of the same major is served and ours is declared", async () => {
    // Given any version of the same major, when a message is sent in it, then it is served and ours is said.
    for (const protocol_version of ["1.0.0", "1.9.3", "1.0.0-draft", "1.2.0-rc.1+build.5"]) {
      const answered = await shell.say("hello", {}, { protocol_version });
      assert.equal(answered.protocol_version, "1.0.0");
      assert.deepEqual(answered.supported_protocol_versions, ["1.0.0"]);
      assert.deepEqual(textsOf(answered), ["hello"]);
    }
  });

  test("OPH-2 another major is refused with the served versions, whatever else it contains", async () => {
    // Given another major, when a message is sent in it, then it is refused with the versions that are served, whatever
    // else is in it.
    for (const protocol_version of ["0.9.0", "2.0.0", "10.0.0"]) {
      const answered = await shell.send({ protocol_version, request_id: "r", request: "of another kind" });
      const { code, retryable } = errorOf(answered);
      assert.deepEqual({ code, retryable }, { code: "protocol_version_unsupported", retryable: false });
      assert.deepEqual(answered.supported_protocol_versions, ["1.0.0"]);
      assert.equal(answered.request_id, "r");
    }
  });

  test("OPH-3 given no version or none that is one, when a message is sent, then it is invalid", async () => {
    for (const protocol_version of [undefined, "", "1", "1.0", "v1.0.0", "1.0.0.0", 1, null, {}]) {
      const error = await shell.refusal({ ...message({ user_intent: "hello" }), protocol_version });
      assert.equal(error.code, "invalid_request", String(protocol_version));
      assert.equal(error.details.field, "protocol_version");
    }
  });
});

describe("§4 extensibility", () => {
  test("OPH-4 given unknown fields at every level, when the message is sent, then they are ignored", async () => {
    const odd = { "x-new": { deep: [1, { er: null }] }, extensions: { "com.example": { foo: 1 } } };
    const asked = await shell.send({
      ...message({}),
      ...odd,
      capabilities: { ...everything, "com.example.unheard": { level: 3 } },
      request: {
        ...odd,
        auth: { tenant_id: "someone", ...odd },
        context: {
          ...odd,
          user_intent: "ask Which?\nreturn done",
          task_hint: { sop_id: "rehearsal", ...odd },
          shell: { shell_kind: "tv", ...odd },
          attachments: [{ uri: "https://example.com/a.pdf", ...odd }],
          environment_state: { privacy_tier: "public", ...odd },
        },
      },
    });
    const { continuation } = asked.response;
    const extensions = { "com.bridle": { ...odd, answers: [], outcomes: [] }, "com.example": 1 };
    const next = await shell.send(
      message({ user_intent: "this one", continuation: { ...continuation, ...odd, extensions } }),
    );
    assert.deepEqual(textsOf(next), ["You said: this one", "done"]);
  });
});

describe("§5 envelopes", () => {
  test("OPH-5 ids are returned for answered, refused and unreadable messages", async () => {
    // Given ids, when a message is answered, refused or cannot be read, then they come back.
    const ids = { request_id: "req ü 1", correlation_id: "corr/1" };
    for (const sent of [
      message({ user_intent: "hello" }, ids),
      { ...message({ user_intent: "hello" }, ids), protocol_version: "9.0.0" },
      { ...ids, request: [] },
      { ...ids, protocol_version: "1.0.0", request: { context: { attachments: "none" } } },
    ]) {
      const { request_id, correlation_id } = await shell.send({ ...sent, ...ids });
      assert.deepEqual({ request_id, correlation_id }, ids);
    }
    const { message: refused } = await shell
      .as("wrong key")
      .post({ ...message({ user_intent: "x" }), ...ids });
    assert.ok(!("request_id" in refused), "what comes without a valid key is not read");
  });

  test("OPH-5 given no ids, or some that are none, when it is answered, then none are made up", async () => {
    const answered = await shell.send({ ...message({ user_intent: "hello" }), request_id: undefined });
    assert.ok(!("request_id" in answered) && !("correlation_id" in answered));
    const refused = await shell.send({ protocol_version: "1.0.0", request_id: 7, correlation_id: "" });
    assert.ok(!("request_id" in refused) && !("correlation_id" in refused));
  });

  test("OPH-6 a transport error sets the status and returns a response message", async () => {
    // Given what is wrong with the transport, when a message is sent, then the status says so and the body is a response
    // message.
    const sent = message({ user_intent: "hello" });
    const raw = JSON.stringify(sent);
    const unknown = await shell.as("no such key").post(sent);
    assert.equal(unknown.status, 401);
    assert.match(unknown.headers.get("www-authenticate") ?? "", /^Bearer/);
    assert.equal(errorOf(unknown.message).code, "unauthenticated");
    const unread = await shell.post(raw, { "content-type": "text/plain" });
    assert.equal(unread.status, 415);
    assert.equal(errorOf(unread.message).code, "invalid_request");
    const large = await shell.post(message({ user_intent: "x".repeat(5_000_000) }));
    assert.equal(large.status, 413);
    assert.equal(errorOf(large.message).code, "invalid_request");
    for (const broken of [
      "",
      "{",
      "[]",
      "null",
      '"text"',
      '{"protocol_version":"1.0.0","request":{}}',
      raw.slice(1),
    ]) {
      const { status, message: answered } = await shell.post(broken);
      assert.equal(status, 200, broken);
      assert.equal(errorOf(answered).code, "invalid_request");
    }
  });

  test("OPH-6 given no intent, when a message is sent, then the field that is missing is named", async () => {
    for (const request of [{}, { context: {} }, { context: { session_id: "s" } }]) {
      const error = await shell.refusal({ ...message({}), request });
      assert.equal(error.code, "invalid_request");
      assert.equal(error.details.field, "context.user_intent");
      assert.equal(error.retryable, false);
    }
  });

  test("OPH-7 correlation headers are returned and the trace continues", async () => {
    // Given headers of those who follow requests, when it is answered, then they come back, and the trace goes on.
    const traceparent = `00-${"4b".repeat(16)}-${"00f067aa0ba902b7"}-01`;
    const headers = { "x-correlation-id": "corr-9", traceparent };
    const { headers: answered, message: said } = await shell.post(message({ user_intent: "hello" }), headers);
    assert.equal(answered.get("x-correlation-id"), "corr-9");
    assert.equal(said.correlation_id, "corr-9");
    assert.match(answered.get("traceparent") ?? "", new RegExp(`^00-${"4b".repeat(16)}-`));
    const own = await shell.post(message({ user_intent: "hello" }, { correlation_id: "own" }), headers);
    assert.equal(own.message.correlation_id, "own");
    assert.equal(own.headers.get("x-correlation-id"), "own");
  });

  test("OPH-38 given a response, when it is looked at, then it says how long the engine took", async () => {
    const { response } = await shell.say("hello");
    assert.ok(Number.isInteger(response.engine_latency_ms) && response.engine_latency_ms >= 0);
  });
});

describe("§5.3 capabilities", () => {
  test("OPH-8, OPH-9 only unavailable capabilities are denied, each with a code", async () => {
    // Given what a shell asks for, when it is answered, then what it cannot have is denied with a code, and nothing
    // else.
    const capabilities = {
      ...everything,
      "openharness.holograms": true,
      "com.example.smell": { intensity: 3 },
      "openharness.not_wanted": false,
      "com.example.neither": null,
    };
    const answered = await shell.say("hello", {}, { capabilities });
    assert.deepEqual(
      answered.capability_denials.map(({ capability, code }: Json) => ({ capability, code })),
      [
        { capability: "openharness.holograms", code: "not_supported" },
        { capability: "com.example.smell", code: "not_supported" },
      ],
    );
    for (const name of ["openharness.streaming", ...Object.keys(everything)])
      assert.equal(answered.supported_capabilities[name], true, name);
    const refused = await shell.send(
      message({ user_intent: "x", task_hint: { sop_id: "nobody" } }, { capabilities }),
    );
    assert.equal(refused.capability_denials.length, 2);
  });

  test("OPH-9 a key without approval rights is denied by policy and gets approvals as text", async () => {
    // Given a key that may not approve, when its shell offers to, then that is denied by policy, and the approval is
    // said in words.
    const { key } = await shell.client.createKey({ scopes: ["tasks:write", "messages:read"] });
    const asked = await shell.as(key).play(["approve deploy"], {}, { capabilities: everything });
    assert.deepEqual(
      asked.capability_denials.map(({ capability, code }: Json) => ({ capability, code })),
      [{ capability: "openharness.ui.approval", code: "disabled_by_policy" }],
    );
    assert.deepEqual(typesOf(asked), ["render_message"]);
    assert.match(textsOf(asked)[0] ?? "", /deploy/);
  });

  test("OPH-10 each shell gets directives in the form its capabilities allow", async () => {
    // Given shells that can do more and less, when an agent gives directives, then each has them in its own form.
    const directives = [
      {
        action_type: "render_ui",
        execution: "parallel",
        payload: { component: "Chart", fallback_message: "3 of 4" },
      },
      { action_type: "render_ui", payload: { component: "Chart" } },
      { action_type: "com.example.wave", execution: "parallel", expects_outcome: false },
    ];
    const context = { task_hint: { sop_id: "director" } };
    const rich = await shell.say({ directives }, context, { capabilities: everything });
    assert.deepEqual(typesOf(rich).slice(0, 3), ["render_ui", "render_ui", "com.example.wave"]);
    assert.equal(directivesOf(rich)[0].execution, "parallel");
    const plain = await shell.say({ directives }, context);
    assert.deepEqual(typesOf(plain).slice(0, 3), ["render_message", "render_message", "com.example.wave"]);
    assert.deepEqual(textsOf(plain).slice(0, 2), ["3 of 4", "(Chart)"]);
    for (const { execution } of directivesOf(plain)) assert.notEqual(execution, "parallel");
  });

  test("OPH-10 a resume without capabilities keeps the earlier ones", async () => {
    // Given a request that says nothing of capabilities, when it resumes a run, then those of before hold.
    const asked = await shell.play(["ask First?", "approve it"], {}, { capabilities: everything });
    const next = await shell.resume(asked, {}, { user_intent: "yes" });
    assert.equal(directiveOf(next, "request_approval").payload.summary, "it");
    const other = await shell.play(["ask First?", "approve it"], {}, { capabilities: everything });
    const less = await shell.resume(other, {}, { user_intent: "yes" }, { capabilities: {} });
    assert.deepEqual(typesOf(less), ["render_message", "render_message"]);
  });
});

describe("§6, §7 who is there", () => {
  test("OPH-11 given what a shell says of itself, when a run looks, then it is there, and the hint", async () => {
    const identity = {
      shell_kind: "com.example.kiosk",
      shell_version: "2.1",
      locale: "zh-CN",
      timezone: "Asia/Shanghai",
    };
    const answered = await shell.say("look", {
      task_hint: { sop_id: "mirror", business_key: "deal_42", floor: 3 },
      shell: { ...identity, unknown: true },
    });
    const { data } = directivesOf(answered)[0].payload;
    assert.deepEqual(data.identity, identity);
    assert.deepEqual(data.hint, { sop_id: "mirror", business_key: "deal_42", floor: 3 });
    assert.equal(data.isPresent, true);
  });

  test("OPH-12 the key alone decides; names and a token in the body are not kept", async () => {
    // Given somebody else's names and a token in the body, when it is sent, then the key alone decides, and nothing of
    // it is kept.
    const { key } = await shell.client.createKey({ tenant_id: "tenant_shells", scopes: ["admin"] });
    const sent = message({ user_intent: "hello" });
    sent.request.auth = {
      tenant_id: "tenant_default",
      credential_ref: "ref-canary-1",
      token: "tok-canary-1",
    };
    const answered = await shell.as(key).send(sent);
    const theirs = await shell.client.as(key).get(`/v1/tasks/${runOf(answered)}`);
    assert.equal(theirs.status, 200);
    assert.equal((await shell.client.get(`/v1/tasks/${runOf(answered)}`)).status, 404);
    const events = await shell.client.as(key).listAll(`/v1/tasks/${runOf(answered)}/events`);
    assert.ok(!/canary/.test(JSON.stringify([events, answered])));
    const none = await shell.client.call(path, { raw: JSON.stringify(sent), key: null });
    assert.equal(none.status, 401);
    assert.ok(!/canary/.test(JSON.stringify(none.body)));
  });

  test("OPH-13 a key may send, hear and decide only what its scopes allow", async () => {
    // Given keys with fewer scopes, when they are used, then they may send, hear and decide what their scopes say.
    const reader = await shell.client.createKey({ scopes: ["tasks:read", "messages:read"] });
    const error = await shell.as(reader.key).refusal(message({ user_intent: "hello" }));
    assert.equal(error.code, "permission_denied");
    assert.equal(error.details.required_scope, "tasks:write");
    const mute = await shell.client.createKey({ scopes: ["tasks:write"] });
    const heard = await shell.as(mute.key).play(["say Hello", "artifact a.txt words", "return done"]);
    assert.deepEqual(directivesOf(heard), []);
    const writer = await shell.client.createKey({ scopes: ["tasks:write", "messages:read"] });
    const asked = await shell.as(writer.key).play(["approve it"]);
    const { continuation } = asked.response;
    const [pending] = (await shell.client.get(`/v1/permission-requests?task_id=${runOf(asked)}`)).body.data;
    const approvals = [{ request_id: pending.id, artifact_hash: "0".repeat(64), approved: true }];
    const extensions = { "com.bridle": { approvals } };
    const refused = await shell
      .as(writer.key)
      .refusal(message({ continuation: { ...continuation, extensions } }));
    assert.equal(refused.code, "permission_denied");
  });
});

describe("§13 errors", () => {
  test("OPH-36 a session that takes no more work refuses a shell as final", async () => {
    // Given a session that takes no more work, when a shell speaks in it, then it is told that this is final.
    const first = await shell.say("hello", { session_id: "to be closed" });
    const { session_id } = first.response.extensions["com.bridle"];
    await shell.client.post(`/v1/sessions/${session_id}/close`);
    const error = await shell.refusal(message({ session_id: "to be closed", user_intent: "again" }));
    assert.deepEqual([error.code, error.retryable], ["policy_denied", false]);
  });

  test("OPH-36 a used up quota answers rate_limited and allows a retry", async () => {
    // Given a quota that is used up, when a shell wants more, then it is rate_limited and may come back.
    const { body: quota } = await shell.client.post("/v1/quotas", {
      scope: "persona",
      limits: { tasks_per_minute: 1 },
    });
    await shell.client.post("/v1/personas", {
      name: "Scarce",
      version: "1",
      entry_workflow: "echo",
      description: "Has little time.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      quota_id: quota.id,
    });
    const context = { user_intent: "hello", task_hint: { sop_id: "Scarce" } };
    const answers = [await shell.post(message(context)), await shell.post(message(context))];
    const refused = answers.find(({ status }) => status === 429);
    assert.ok(refused, "the second of a minute is refused");
    const error = errorOf(refused.message);
    assert.deepEqual([error.code, error.retryable], ["rate_limited", true]);
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  });

  test("OPH-37 each kind of failed run ends with its own error after its output", async () => {
    // Given runs that fail in different ways, when they are told, then each is an error that says how, after what was
    // said.
    const cases = [
      { lines: ["say Before", "fail it broke"], code: "internal_error", failure_code: "rehearsed_failure" },
      { lines: ["say Before", "reject not me"], code: "policy_denied", failure_code: "rejected" },
    ];
    for (const { lines, code, failure_code } of cases) {
      const answered = await shell.send(
        message({ user_intent: lines.join("\n"), task_hint: { sop_id: "rehearsal" } }),
      );
      const error = errorOf(answered);
      assert.equal(error.code, code);
      assert.equal(error.details.failure_code, failure_code);
      assert.equal(error.details.run_id, runOf(answered));
      assert.equal(error.retryable, false);
      assert.deepEqual(textsOf(answered), ["Before"]);
      assert.equal(answered.response.continuation, undefined);
    }
  });

  test("OPH-37 given a shell that gives up, when it cancels its run, then the run ends and says so", async () => {
    const asked = await shell.play(["say Hello", "ask Which?"]);
    const answered = await shell.send(continued(asked, { cancel: { reason: "went home" } }));
    const { code, details } = errorOf(answered);
    assert.deepEqual([code, details.failure_code], ["policy_denied", "canceled"]);
    const task = await until(
      async () => (await shell.client.get(`/v1/tasks/${runOf(asked)}`)).body,
      ({ status }) => status === "CANCELED",
    );
    assert.equal(task.id, runOf(asked));
  });
});

describe("Examples", () => {
  test("OPH-46 messages in the shape of the published examples are understood", async () => {
    // Given messages in the shape of the published ones, when they are sent, then they are understood.
    const minimal = {
      protocol_version: "1.0.0",
      request_id: "req_golden_001",
      request: {
        auth: { tenant_id: "tenant_golden", credential_ref: "cred_golden" },
        context: { session_id: "sess_golden", user_intent: "Hello from the smallest shell." },
      },
    };
    const first = await shell.send(minimal);
    assert.equal(first.request_id, "req_golden_001");
    const [said] = directivesOf(first);
    assert.equal(said.action_type, "render_message");
    assert.equal(said.payload.text, "Hello from the smallest shell.");
    assert.equal(ownOf(said).kind, "message");

    const { body: artifact } = await shell.client.call("/v1/artifacts/upload?name=brief.pdf", {
      raw: "not really a brief",
    });
    const chat = (continuation: object | undefined) => ({
      protocol_version: "1.0.0",
      request_id: `req_golden_${continuation === undefined ? "002" : "003"}`,
      correlation_id: "corr_golden",
      capabilities: { "openharness.ui.rich_cards": true, "openharness.attachments.upload": true },
      request: {
        auth: { tenant_id: "tenant_golden", credential_ref: "cred_golden" },
        context: {
          session_id: "sess_golden",
          conversation_id: "conv_golden",
          user_intent: continuation === undefined ? "ask Which card?\nreturn Continued." : "The last one.",
          task_hint: { sop_id: "rehearsal", business_key: "deal_golden" },
          ...(continuation === undefined ? {} : { continuation }),
          shell: {
            shell_kind: "im_bot_cli",
            shell_version: "0.4.0",
            locale: "zh-CN",
            timezone: "Asia/Shanghai",
          },
          attachments: [{ ref_id: artifact.id, mime_type: "application/pdf", filename: "brief.pdf" }],
          environment_state: { privacy_tier: "restricted", active_window: "ChatClient" },
        },
      },
    });
    const asked = await shell.send(chat(undefined));
    assert.deepEqual(textsOf(asked), ["Which card?"]);
    const { run_id, continuation_token } = asked.response.continuation;
    const done = await shell.send(chat({ run_id, continuation_token }));
    assert.deepEqual(textsOf(done), ["You said: The last one.", "Continued."]);
    assert.equal(done.correlation_id, "corr_golden");
    assert.deepEqual(done.capability_denials, []);
  });
});
