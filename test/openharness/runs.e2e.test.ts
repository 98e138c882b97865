/** Context: sessions, intents, hints, attachments, and runs that are continued. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { defaultConfig } from "../../src/server/config.ts";
import { type Json, until } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import {
  continued,
  directiveOf,
  directivesOf,
  errorOf,
  everything,
  message,
  ownOf,
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

const sessionOf = ({ response }: Json): string => response.extensions["com.bridle"].session_id;
const mirror = { task_hint: { sop_id: "mirror" } };

describe("§9 sessions and intents", () => {
  test("OPH-19 equal session and conversation names share a session, others do not", async () => {
    // Given names of sessions and conversations, when shells speak in them, then equal names are one session and others
    // are others.
    const say = async (context: object, auth?: object) => {
      const sent = message({ user_intent: "hello", ...context });
      if (auth !== undefined) sent.request.auth = auth;
      return sessionOf(await shell.send(sent));
    };
    const first = await say({ session_id: "s" });
    assert.equal(await say({ session_id: "s" }), first);
    assert.equal(await say({}, { session_id: "s" }), first);
    const others = [
      await say({ session_id: "t" }),
      await say({ session_id: "s", conversation_id: "c" }),
      await say({ session_id: "s", conversation_id: "d" }),
      await say({ session_id: "s" }, { tenant_id: "a person" }),
      await say({}),
      await say({}),
    ];
    assert.equal(new Set([first, ...others]).size, 1 + others.length);
    const { key } = await shell.client.createKey({ tenant_id: "tenant_elsewhere" });
    const theirs = sessionOf(await shell.as(key).say("hello", { session_id: "s" }));
    assert.notEqual(theirs, first);
    const texts = await shell.client.texts(first);
    assert.deepEqual(texts, ["hello", "hello", "hello", "hello", "hello", "hello"]);
  });

  test("OPH-20 a text or structured intent reaches the agent and the transcript", async () => {
    // Given an intent in words or as a structure, when it is sent, then the agent has it, and the transcript too.
    const said = await shell.say("Show me the deals", { ...mirror, session_id: "intents" });
    assert.equal(directivesOf(said)[0].payload.data.text, "Show me the deals");
    const structure = { intent: "show", slots: { what: ["deals"] } };
    const structured = await shell.say(structure, { ...mirror, session_id: "intents" });
    assert.deepEqual(directivesOf(structured)[0].payload.data.input, structure);
    const messages = await shell.client.listAll(`/v1/sessions/${sessionOf(said)}/messages`);
    const own = messages.filter(({ role }) => role === "user");
    assert.deepEqual(
      own.map(({ parts }) => parts[0].text ?? parts[0].value),
      ["Show me the deals", structure],
    );
    for (const user_intent of ["", 7, null, [], true]) {
      const error = await shell.refusal({ ...message({}), request: { context: { user_intent } } });
      assert.equal(error.code, "invalid_request");
    }
  });

  test("OPH-21 a hint selects its persona or agent; an unknown name is unknown_sop", async () => {
    // Given hints, when they name a persona or an agent, then it does the work; unknown names are unknown_sop.
    const { body: persona } = await shell.client.post("/v1/personas", {
      name: "Front desk",
      version: "1",
      entry_workflow: "rehearsal",
      description: "Welcomes people.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
    });
    const personaOf = async (task_hint: object) => {
      const answered = await shell.say("return welcome", { task_hint });
      return (await shell.client.get(`/v1/tasks/${runOf(answered)}`)).body.persona_id;
    };
    assert.equal(await personaOf({ sop_id: "Front desk" }), persona.id);
    assert.equal(await personaOf({ sop_id: persona.id }), persona.id);
    assert.equal(await personaOf({ plugin_id: "Front desk", business_key: "b" }), persona.id);
    assert.equal(await personaOf({ sop_id: "rehearsal", plugin_id: "Front desk" }), "persona_rehearsal");
    assert.equal(await personaOf({ business_key: "b" }), "persona_default");
    for (const task_hint of [{ sop_id: "sop_onboard" }, { plugin_id: "nobody" }, { sop_id: "" }]) {
      const error = await shell.refusal(message({ user_intent: "hello", task_hint }));
      assert.deepEqual([error.code, error.retryable], ["unknown_sop", false]);
    }
    const { key } = await shell.client.createKey({ tenant_id: "tenant_elsewhere" });
    const hidden = await shell
      .as(key)
      .refusal(message({ user_intent: "hello", task_hint: { sop_id: persona.id } }));
    assert.equal(hidden.code, "unknown_sop");
  });
});

describe("§9.1 attachments", () => {
  test("OPH-22 given data in the message, when it is attached under any name, then it is refused", async () => {
    const base64 = Buffer.from("x".repeat(2000)).toString("base64");
    for (const attachment of [
      { uri: "data:text/plain;base64,aGVsbG8=" },
      { uri: "DATA:,hello" },
      { ref_id: "artifact_x", content: base64 },
      { uri: "https://example.com/a", thumbnail: { small: base64 } },
      { uri: "not an address" },
      { filename: "nothing.txt" },
      {},
    ]) {
      const error = await shell.refusal(message({ user_intent: "look", attachments: [attachment] }));
      assert.equal(error.code, "invalid_request", JSON.stringify(attachment).slice(0, 80));
      assert.match(error.details.field, /^context\.attachments\[0\]/);
      assert.ok(!JSON.stringify(error).includes(base64));
    }
  });

  test("OPH-23 attached references reach the agent and missing ones are unavailable", async () => {
    // Given references, when they are attached, then the agent has them, and what is not there is unavailable.
    const { body: artifact } = await shell.client.call("/v1/artifacts/upload?name=a.txt", { raw: "words" });
    const attachments = [
      { ref_id: artifact.id, filename: "a.txt", size_bytes: 5 },
      { asset_id: artifact.id },
      { uri: "https://files.example.com/b.png", mime_type: "image/png" },
      { uri: "app-files://local/c" },
    ];
    const answered = await shell.say("look", { ...mirror, attachments });
    const { parts } = directivesOf(answered)[0].payload.data;
    assert.deepEqual(
      parts.map(({ type, artifact_id, uri }: Json) => [type, artifact_id ?? uri]),
      [
        ["text", undefined],
        ["artifact_ref", artifact.id],
        ["artifact_ref", artifact.id],
        ["file_ref", "https://files.example.com/b.png"],
        ["file_ref", "app-files://local/c"],
      ],
    );
    const { key } = await shell.client.createKey({ tenant_id: "tenant_elsewhere" });
    for (const [by, ref_id] of [
      [shell, "artifact_none"],
      [shell.as(key), artifact.id],
    ] as const) {
      const error = await by.refusal(message({ user_intent: "look", attachments: [{ ref_id }] }));
      assert.deepEqual([error.code, error.retryable], ["attachment_unavailable", false]);
    }
  });
});

describe("§9.2 continuation", () => {
  test("OPH-24, OPH-31 an intent that answers a question continues the run to its end", async () => {
    // Given a question, when the shell answers it with an intent, then the run goes on, and is over at the end.
    const asked = await shell.play(["say Hello", "ask Which region?", "ask And when?", "return done"]);
    assert.deepEqual(textsOf(asked), ["Hello", "Which region?"]);
    const { run_id, sop_id, continuation_token, expires_at } = asked.response.continuation;
    assert.equal(run_id, runOf(asked));
    assert.equal(sop_id, "rehearsal");
    assert.ok(Date.parse(expires_at) > Date.now());
    const next = await shell.resume(asked, {}, { user_intent: "eu" });
    assert.deepEqual(textsOf(next), ["You said: eu", "And when?"]);
    assert.notEqual(next.response.continuation.continuation_token, continuation_token);
    const question_id = ownOf(directivesOf(next)[1]).directive_id;
    const done = await shell.resume(next, { answers: [{ question_id, value: "now" }] });
    assert.deepEqual(textsOf(done), ["You said: now", "done"]);
    assert.equal(done.response.continuation, undefined);
    assert.equal(done.response.extensions["com.bridle"].run_status, "COMPLETED");
  });

  test("OPH-25 a used, foreign, mismatched or made-up token is invalid and consumes nothing", async () => {
    // Given a token that is used, somebody else's, of another run or none, when it is sent, then it is invalid and takes
    // nothing.
    const asked = await shell.play(["ask Which?", "ask And?"]);
    const { continuation } = asked.response;
    const other = await shell.play(["ask Other?"]);
    const { key } = await shell.client.createKey({ actor: "somebody else", scopes: ["admin"] });
    const token = continuation.continuation_token;
    const last = token.at(-1) === "0" ? "1" : "0";
    const attempts: [Shell, object][] = [
      [shell.as(key), continuation],
      [shell, { ...continuation, run_id: runOf(other) }],
      [shell, { ...continuation, sop_id: "echo" }],
      [shell, { run_id: runOf(asked) }],
      [shell, { continuation_token: "ctok_made_up" }],
      [shell, { continuation_token: `${token.slice(0, -1)}${last}` }],
      [shell, { continuation_token: token.replace(/_1_/, "_2_") }],
      [shell, { continuation_token: `${token} ` }],
      [shell, { run_id: runOf(asked), continuation_token: "" }],
    ];
    for (const [by, given] of attempts) {
      const error = await by.refusal(message({ user_intent: "stolen", continuation: given }));
      assert.deepEqual([error.code, error.retryable], ["continuation_invalid", false], JSON.stringify(given));
    }
    const next = await shell.resume(asked, {}, { user_intent: "mine" });
    assert.deepEqual(textsOf(next), ["You said: mine", "And?"]);
    const again = await shell.refusal(message({ user_intent: "twice", continuation }));
    assert.equal(again.code, "continuation_invalid");
    const texts = await shell.client.texts(sessionOf(asked));
    assert.ok(!texts.includes("stolen") && !texts.includes("twice"));
  });

  test("OPH-25 given a request that is refused, when it is put right, then its token is still good", async () => {
    const asked = await shell.say({}, { task_hint: { sop_id: "asker" } }, { capabilities: everything });
    const { schema } = ownOf(directivesOf(asked)[0]);
    assert.deepEqual(schema.required, ["region"]);
    const error = await shell.refusal(continued(asked, {}, { user_intent: { city: "Berlin" } }));
    assert.equal(error.code, "invalid_request");
    const next = await shell.resume(asked, {}, { user_intent: { region: "eu" } });
    assert.equal(directiveOf(next, "request_approval").payload.summary, "deploy to eu");
  });

  test("OPH-31 a late answer to an answered question answers no other question", async () => {
    // Given a question that somebody else has answered, when the shell's answer comes, then it answers no other
    // question.
    const asked = await shell.play(["ask First?", "ask Second?", "return done"]);
    await shell.client.answer(runOf(asked), "from elsewhere");
    await until(
      async () => (await shell.client.get(`/v1/tasks/${runOf(asked)}`)).body,
      ({ waiting_for }) => waiting_for?.description === "Second?",
    );
    const question_id = ownOf(directivesOf(asked)[0]).directive_id;
    const late = await shell.resume(
      asked,
      { answers: [{ question_id, value: "too late" }] },
      { user_intent: "for the first" },
    );
    assert.deepEqual(late.response.extensions["com.bridle"].not_taken, [question_id]);
    assert.deepEqual(textsOf(late), ["You said: from elsewhere", "Second?"]);
    const done = await shell.resume(late, {}, { user_intent: "for the second" });
    assert.deepEqual(textsOf(done), ["You said: for the second", "done"]);
  });

  test("OPH-24 a shell returning to an ended run hears the end and what came too late", async () => {
    // Given a run that ended meanwhile, when the shell comes back, then it hears the end, and what came too late.
    const asked = await shell.play(["ask Which?", "return done"]);
    await shell.client.answer(runOf(asked), "from elsewhere");
    await shell.client.untilTask(runOf(asked), ({ status }) => status === "COMPLETED");
    const late = await shell.resume(asked, {}, { user_intent: "too late" });
    assert.deepEqual(textsOf(late), ["You said: from elsewhere", "done"]);
    assert.deepEqual(late.response.extensions["com.bridle"].not_taken, ["user_intent"]);
    assert.equal(late.response.continuation, undefined);
  });
});

describe("§9.2 waiting", () => {
  let quick: TestServer;
  let impatient: Shell;

  before(async () => {
    quick = await startServer({
      config: { ...config, openHarness: { ...defaultConfig.openHarness, waitMs: 150 } },
    });
    impatient = new Shell(quick);
  });
  after(() => quick[Symbol.asyncDispose]());

  /** Comes back until something holds for a response. Gives all of them, that one last. */
  async function resumeUntil(first: Json, holds: (answered: Json) => boolean): Promise<Json[]> {
    const answers = [first];
    await until(
      async () => {
        const last = answers.at(-1);
        if (!holds(last)) answers.push(await impatient.resume(last));
        return answers.at(-1);
      },
      (last) => holds(last),
    );
    return answers;
  }

  test("OPH-26, OPH-24 work longer than the engine waits is continued until it is done", async () => {
    // Given work that takes longer than the engine waits, when it is asked, then it says so, and the run is continued
    // until it is done.
    const begun = await impatient.play(["say Started", "progress half way", "host gate.open", "return done"]);
    const working = await resumeUntil(begun, (answered) => typesOf(answered).includes("com.bridle.progress"));
    const last = working.at(-1);
    assert.deepEqual(typesOf(last).slice(-2), ["com.bridle.progress", "noop"]);
    const { payload } = directiveOf(last, "com.bridle.progress");
    assert.deepEqual(payload, { message: "half way", fallback_message: "half way" });
    await using host = await openSession(impatient.client, sessionOf(begun), {
      host_capabilities: ["gate.open"],
    });
    const { call_id } = await host.until("request");
    await host.command({ type: "host.result", call_id, output: "open" });
    const rest = await resumeUntil(last, ({ response }) => response.continuation === undefined);
    assert.deepEqual([...working, ...rest.slice(1)].flatMap(textsOf), [
      "Started",
      'Host gate.open gave "open"',
      "done",
    ]);
  });

  test("OPH-26 a run waiting for somebody else tells the shell once and lets it wait", async () => {
    // Given a run that nobody at the shell can help, when it waits for somebody else, then the shell is told once and
    // then waits with it.
    const begun = await impatient.play(["approve deploy", "return done"]);
    const told = await resumeUntil(begun, (answered) => typesOf(answered).includes("render_message"));
    const asked = told.at(-1);
    const startedAt = Date.now();
    const waiting = await impatient.resume(asked);
    assert.ok(Date.now() - startedAt >= 150, "the shell was not sent back at once");
    assert.equal(ownOf(directivesOf(waiting)[0]).directive_id, ownOf(directivesOf(asked)[0]).directive_id);
    const { waiting_for } = (await impatient.client.get(`/v1/tasks/${runOf(asked)}`)).body;
    await impatient.client.post(`/v1/permission-requests/${waiting_for.permission_request_id}/respond`, {
      approved: true,
    });
    const rest = await resumeUntil(waiting, ({ response }) => response.continuation === undefined);
    assert.equal(rest.flatMap(textsOf).at(-1), "done");
  });

  test("OPH-25 given a token that has expired, when it is sent, then it is invalid", async () => {
    await using hasty = await startServer({
      config: { ...config, openHarness: { ...defaultConfig.openHarness, continuationMs: 1 } },
    });
    const late = new Shell(hasty);
    const asked = await late.play(["ask Which?"]);
    const answered = await until(
      async () => await late.send(continued(asked, {}, { user_intent: "late" })),
      ({ response }) => response.status === "error",
    );
    assert.equal(errorOf(answered).code, "continuation_invalid");
  });
});
