/** Privacy: what becomes of what a shell says in confidence, looked for everywhere it must not be. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { defaultConfig } from "../../src/server/config.ts";
import { filesWith } from "../support/canaries.ts";
import { type Json, until } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { config } from "../support/openharness-server.ts";
import { startProcess, startServer, type TestProcess, temporaryDirectory } from "../support/server.ts";
import {
  directiveOf,
  directivesOf,
  errorOf,
  everything,
  message,
  outcome,
  runOf,
  Shell,
  textsOf,
} from "./wire.ts";

const script = fileURLToPath(new URL("../support/openharness-server.ts", import.meta.url));

let server: TestProcess;
let shell: Shell;
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;

before(async () => {
  directory = await temporaryDirectory();
  server = await startProcess({ script, data: directory.path, env: { BRIDLE_LOG_LEVEL: "trace" } });
  shell = new Shell(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

const able = { capabilities: everything };

/** Values that are found nowhere by chance, and some that are words of every record. */
const secrets = {
  word: "kanarie-Alpha-7731",
  pin: 4417993355,
  nested: { note: ["Kanarienvogel im Keller"] },
};
const words = {
  status: "completed",
  kind: "metadata",
  tier: "restricted",
  short: "abc",
  flag: true,
  day: today(),
};
const secretTexts = ["kanarie-Alpha-7731", "4417993355", "Kanarienvogel im Keller"];
const secretState = { privacy_tier: "secret", ...secrets, ...words };

function today(): string {
  return new Date().toISOString().slice(0, "2026-01-01".length);
}

function confide(what: string, environment_state: object, context: object = {}, by = shell): Promise<Json> {
  return by.say({ do: what }, { task_hint: { sop_id: "confidant" }, environment_state, ...context }, able);
}

function assertNowhere(text: string, where: string): void {
  for (const secret of secretTexts) assert.ok(!text.includes(secret), `${secret} is in ${where}`);
}

const resultOf = (answered: Json): Json => {
  const { text, data } = directivesOf(answered).at(-1).payload;
  return data ?? text;
};

describe("§8 secret state", () => {
  test("OPH-15, OPH-16 secrets that an agent repeats are redacted everywhere, nothing else is", async () => {
    // Given an agent that says all that it was told, when its run is over, then none of it is anywhere, and everything
    // else is whole.
    const failed = await shell.send(
      message(
        { user_intent: { do: "leak" }, task_hint: { sop_id: "confidant" }, environment_state: secretState },
        able,
      ),
    );
    assert.equal(errorOf(failed).details.failure_code, "leaked");
    assertNowhere(JSON.stringify(failed), "the response");
    assert.match(textsOf(failed)[0] ?? "", /I was told .*\[redacted:secret\]/);
    // What is too short, or a word of the record, was not torn up.
    assert.match(textsOf(failed)[0] ?? "", /"status":"completed","kind":"metadata"/);
    const taskId = runOf(failed);
    const task = (await shell.client.get(`/v1/tasks/${taskId}`)).body;
    const events = await shell.client.listAll(`/v1/tasks/${taskId}/events`);
    const receipt = (await shell.client.get(`/v1/receipts/${task.receipt_id}`)).body;
    const messages = await shell.client.listAll(`/v1/sessions/${task.session_id}/messages`);
    assertNowhere(JSON.stringify([task, events, receipt, messages]), "the API");
    const created = events.find(({ event }) => event === "vendor.bridle.shell_link.created");
    const { environment } = created.payload.shell_link;
    assert.equal(environment.tier, "secret");
    assert.match(environment.keyed_hash, /^[0-9a-f]{64}$/);
    assert.deepEqual(Object.keys(environment).sort(), ["bytes", "keyed_hash", "tier"]);
    for (const secret of secretTexts) assert.deepEqual(filesWith(directory.path, secret), []);
    assertNowhere(server.output(), "the log");
    const { valid } = (await shell.client.post(`/v1/receipts/${task.receipt_id}/verify`)).body;
    assert.equal(valid, true);
  });

  test("OPH-15 a secret repeated elsewhere in its message is redacted, accepted or refused", async () => {
    // Given a secret that the shell has put elsewhere in its message too, when the message is taken or refused, then it
    // is nowhere either.
    const environment_state = { privacy_tier: "secret", code: "kanarie-Alpha-7731" };
    const user_intent = "my code is kanarie-Alpha-7731";
    const answered = await shell.say(user_intent, { environment_state });
    assertNowhere(JSON.stringify(answered), "the response");
    for (const context of [
      { user_intent, environment_state, task_hint: { sop_id: "kanarie-Alpha-7731" } },
      { user_intent, environment_state, attachments: [{ ref_id: "kanarie-Alpha-7731" }] },
      { user_intent, environment_state, attachments: [{ uri: "kanarie-Alpha-7731" }] },
      { user_intent, environment_state, continuation: { continuation_token: "kanarie-Alpha-7731" } },
    ]) {
      const refused = await shell.send(message(context));
      errorOf(refused);
      assertNowhere(JSON.stringify(refused), "an error");
    }
    const unread = await shell.post(message({ user_intent, environment_state }), {
      "content-type": "text/plain",
    });
    assertNowhere(JSON.stringify(unread.message), "an error");
    for (const secret of secretTexts) assert.deepEqual(filesWith(directory.path, secret), []);
    assertNowhere(server.output(), "the log");
  });

  test("OPH-15 a repeated message with a secret is recognized without storing the secret", async () => {
    // Given the same message with the same secret, when it is sent again, then it is recognized without the secret being
    // kept.
    const sent = message(
      { user_intent: { do: "count" }, task_hint: { sop_id: "confidant" }, environment_state: secretState },
      able,
    );
    const first = await shell.send(sent);
    assert.equal(resultOf(first), secrets.word.length);
    assert.deepEqual(await shell.send(sent), first);
    const other = structuredClone(sent);
    other.request.context.environment_state.word = "kanarie-Alpha-7732";
    assert.equal(errorOf(await shell.send(other)).code, "idempotency_conflict");
  });

  test("OPH-18 secret state is refused outside a step or to a model, unless the persona names it", async () => {
    // Given secret state, when code outside of a step or a model's step wants it, then it is refused, unless the persona
    // names it.
    const tier = await confide("tier", secretState);
    assert.deepEqual(resultOf(tier), { tier: "secret", state: null });
    for (const [what, code] of [
      ["outside", "environment_in_step_only"],
      ["model", "policy_violation"],
    ] as const) {
      const refused = await shell.send(
        message(
          { user_intent: { do: what }, task_hint: { sop_id: "confidant" }, environment_state: secretState },
          able,
        ),
      );
      assert.equal(errorOf(refused).details.failure_code, code);
    }
    const { body: persona } = await shell.client.post("/v1/personas", {
      name: "Trusted",
      version: "1",
      entry_workflow: "confidant",
      description: "Its model may know.",
      autonomy_tier: "act_auto",
      receipt_policy: "required",
      capabilities: ["environment:model"],
    });
    const trusted = await confide("model", secretState, { task_hint: { sop_id: persona.id } });
    assert.equal(resultOf(trusted), secrets.word.length);
  });

  test("OPH-17 given state that is more than one run may hold, when it is sent, then it is refused", async () => {
    const huge = { privacy_tier: "secret", screen: "x".repeat(70_000) };
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`v${n}`, `value number ${n}`]));
    for (const environment_state of [
      huge,
      { privacy_tier: "secret", ...many },
      { ...huge, privacy_tier: "public" },
    ]) {
      const error = await shell.refusal(message({ user_intent: "hello", environment_state }));
      assert.equal(error.code, "invalid_request");
      assert.equal(error.details.field, "context.environment_state");
    }
  });
});

describe("§8 public and restricted state", () => {
  test("OPH-14 the agent sees state of every tier and others only what they may", async () => {
    // Given state of each tier, when the agent looks, then it has it; others see what they may.
    const shown = await confide("tier", { privacy_tier: "public", os: "public-canary-os" });
    assert.deepEqual(resultOf(shown), { tier: "public", state: { os: "public-canary-os" } });
    const kept = await confide("tier", {
      privacy_tier: "restricted",
      active_window: "restricted-canary-window",
    });
    assert.equal(resultOf(kept).state.active_window, "restricted-canary-window");
    const unclassified = await confide("count", { active_window: "unclassified-canary" });
    const reader = await shell.client.withScopes(
      "tasks:read",
      "events:read",
      "messages:read",
      "receipts:read",
    );
    const textOf = async (by: typeof reader, answered: Json) => {
      const events = await by.listAll(`/v1/tasks/${runOf(answered)}/events`);
      // What the agent itself says in public is public.
      return JSON.stringify(events.filter(({ event }) => event !== "agent.message"));
    };
    assert.ok((await textOf(reader, shown)).includes("public-canary-os"));
    assert.ok(!(await textOf(reader, kept)).includes("restricted-canary-window"));
    assert.ok((await textOf(shell.client, kept)).includes("restricted-canary-window"));
    assert.ok(!(await textOf(reader, unclassified)).includes("unclassified-canary"));
    const task = (await reader.get(`/v1/tasks/${runOf(unclassified)}`)).body;
    const receipt = (await reader.get(`/v1/receipts/${task.receipt_id}`)).body;
    assert.ok(!JSON.stringify([task, receipt]).includes("unclassified-canary"));
    assert.notDeepEqual(filesWith(directory.path, "unclassified-canary"), []);
    assert.ok(!server.output().includes("canary"));
  });

  test("OPH-14 a run that looks again sees the shell's latest state", async () => {
    // Given a shell that says more later, when the run looks again, then it has what was said last.
    const asked = await confide("again", { privacy_tier: "public", word: "12345678" });
    const environment_state = { privacy_tier: "public", word: "123456789012" };
    const done = await shell.resume(asked, {}, { user_intent: "yes", environment_state });
    assert.deepEqual(resultOf(done), { first: 8, answer: "yes", second: 12 });
  });
});

describe("§8 what is gone", () => {
  test("OPH-17, OPH-15 after a crash a run learns its secret state is gone and asks again", async () => {
    // Given a crash while a run has secret state, when it goes on, then it is told that it is gone, asks for it again,
    // and gets it.
    const environment_state = { privacy_tier: "secret", word: "kanarie-Alpha-7731" };
    const asked = await confide("again", environment_state);
    await server.kill();
    server = await startProcess({ script, data: directory.path });
    const returned = new Shell(server);
    const told = await returned.resume(asked, {}, { user_intent: "yes" });
    const request = directiveOf(told, "com.bridle.environment.request");
    assert.equal(request.payload.fallback_message, "Please sign in again.");
    const other = { privacy_tier: "secret", word: "kanarie-Alpha-77310" };
    const done = await returned.resume(told, { outcomes: [outcome(request)] }, { environment_state: other });
    assert.deepEqual(resultOf(done), { first: 18, answer: "yes", status: "completed", again: 19 });
    for (const secret of secretTexts) assert.deepEqual(filesWith(directory.path, secret), []);
  });

  test("OPH-17 state held briefly is gone after its time", async () => {
    // Given state that is held for a moment only, when the moment is over, then it is gone.
    await using forgetful = await startServer({
      config: { ...config, openHarness: { ...defaultConfig.openHarness, heldMs: 1 } },
    });
    const briefly = new Shell(forgetful);
    const environment_state = { privacy_tier: "secret", word: "kanarie-Alpha-7731" };
    const answered = await until(
      async () =>
        await briefly.send(
          message(
            { user_intent: { do: "count" }, task_hint: { sop_id: "confidant" }, environment_state },
            able,
          ),
        ),
      ({ response }) => response.status === "error",
    );
    assert.equal(errorOf(answered).details.failure_code, "environment_gone");
    assertNowhere(JSON.stringify(answered), "the response");
  });

  test("OPH-15, OPH-16 given all that was told here, when the log is refolded, then it is sound", async () => {
    await server.stop();
    const events = await assertRebuildable(directory.path);
    assert.ok(events.some(({ event }) => event === "vendor.bridle.shell_link.turn_answered"));
    assertNowhere(JSON.stringify(events), "the log");
  });
});
