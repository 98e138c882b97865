/** Trying again: only what can be different the next time, always the same message, and not for ever. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  answer,
  directives,
  errorOf,
  failed,
  type Script,
  type ScriptedEngine,
  scriptedEngine,
  sendJson,
} from "../../../test/support/scripted-engine.ts";
import { type Diagnostic, Shell, type ShellOptions } from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
let diagnostics: Diagnostic[];
beforeEach(() => {
  diagnostics = [];
  engine.asked.length = 0;
});
after(() => engine[Symbol.asyncDispose]());

function shellWith(options: Partial<ShellOptions> = {}): Shell {
  return new Shell({
    url: engine.url,
    retry: { firstDelayMs: 1 },
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    ...options,
  });
}

const status =
  (code: number, headers: object = {}, body: unknown = "a proxy's page"): Script =>
  (_asked, reply) =>
    sendJson(reply, body, code, headers);

describe("retries", () => {
  const passing: [string, Script][] = [
    ["a line that breaks", (_asked, reply) => void reply.destroy()],
    ["HTTP 503", status(503)],
    ["HTTP 502", status(502)],
    ["HTTP 500", status(500)],
    ["HTTP 429", status(429, { "Retry-After": "0" })],
    ["an error that may pass", failed("engine_unavailable", { retryable: true })],
  ];
  for (const [what, script] of passing) {
    test(`SHL-15 retries the same message byte for byte after ${what}`, async () => {
      // Given ${what}, when it happens, then the same message is sent again, byte for byte, and succeeds.
      engine.play(script, script, directives());
      assert.equal((await shellWith().send("go")).status, "completed");
      assert.equal(engine.asked.length, 3);
      assert.equal(new Set(engine.asked.map(({ text }) => text)).size, 1);
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        ["retry", "retry"],
      );
    });
  }

  const final: [string, Script, string][] = [
    ["HTTP 401", status(401), "unauthenticated"],
    ["HTTP 404", status(404), "http_error"],
    ["HTTP 413", status(413), "http_error"],
  ];
  for (const [what, script, code] of final) {
    test(`SHL-15 given ${what}, when it happens, then the error says so`, async () => {
      engine.play(script);
      const error = await errorOf(shellWith({ retry: { firstDelayMs: 1, attemptsMax: 2 } }).send("go"));
      assert.equal(error.code, code);
      assert.equal(engine.asked.length, 1, "not tried again");
    });
  }

  test("SHL-15 does not follow a redirect with the message or the credentials", async () => {
    // Given an engine that sends the shell elsewhere, when it does, then neither the message nor the credentials go
    // there.
    await using other = await scriptedEngine(directives());
    engine.play(status(307, { Location: other.url }));
    const shell = shellWith({
      headers: { authorization: "Bearer k" },
      retry: { firstDelayMs: 1, attemptsMax: 2 },
    });
    assert.equal((await errorOf(shell.send("go"))).code, "connection_failed");
    assert.deepEqual(other.asked, []);
  });

  test("SHL-15 given an error that will not pass, when it comes, then nothing is tried again", async () => {
    engine.play(failed("invalid_request"), directives());
    assert.equal((await shellWith().send("go")).error?.code, "invalid_request");
    engine.play(answer({ status: "error", error: { code: "odd", message: "does not say" } }), directives());
    assert.equal((await shellWith().send("go")).error?.code, "odd");
    assert.equal(engine.asked.length, 2);
  });

  test("SHL-16 fails once its attempts are used up, and the request can be resumed", async () => {
    // Given an engine that stays away, when the attempts are used up, then the error comes, and the request can be
    // resumed.
    engine.play(status(503));
    const shell = shellWith({ retry: { firstDelayMs: 1, attemptsMax: 3 } });
    const error = await errorOf(shell.send("go"));
    assert.equal(error.retryable, true);
    assert.equal(engine.asked.length, 3);
    engine.play(directives());
    assert.equal((await shell.resume()).status, "completed");
    assert.equal(engine.asked[3]?.text, engine.asked[0]?.text);
  });

  test("SHL-16 honors a short Retry-After and fails at once on a long one", async () => {
    // Given an engine that says when to come back, when that is soon, then it is waited for; when it is not, then the
    // error comes at once.
    const busy = {
      protocol_version: "1.0.0",
      response: { status: "error", error: { code: "rate_limited", retryable: true } },
    };
    engine.play(status(429, { "Retry-After": "1" }, busy), directives());
    const startedAt = performance.now();
    // The pause that the engine asks for is used, not the shell's own.
    assert.equal((await shellWith({ retry: { firstDelayMs: 500_000 } }).send("go")).status, "completed");
    assert.ok(performance.now() - startedAt > 900);

    engine.play(status(429, { "Retry-After": "86400" }, busy));
    engine.asked.length = 0;
    const { error } = await shellWith().send("go");
    assert.equal(error?.code, "rate_limited");
    assert.equal(error?.retryAfterMs, 86_400_000);
    assert.equal(engine.asked.length, 1);
  });

  test("SHL-17 a silent connection times out and is retried", async () => {
    // Given a line on which nothing is heard, when the patience is over, then it is given up and tried again.
    engine.play(() => undefined, directives());
    assert.equal((await shellWith({ silenceMsMax: 200 }).send("go")).status, "completed");
    assert.equal(engine.asked.length, 2);
    assert.match(diagnostics[0]?.message ?? "", /Nothing was heard/);
  });

  test("SHL-36 aborting a turn during the retry delay ends it at once", async () => {
    // Given a pause before the next attempt, when the turn is given up, then it ends at once.
    engine.play(status(503));
    const given = new AbortController();
    const shell = shellWith({
      retry: { firstDelayMs: 25_000 },
      onDiagnostic: () => given.abort(),
    });
    const error = await errorOf(shell.send("go", { signal: given.signal }));
    assert.equal(error.code, "canceled");
    assert.equal(engine.asked.length, 1);
  });

  test("SHL-15 a retry uses renewed credentials", async () => {
    // Given credentials that are renewed, when a request is tried again, then it has the new ones.
    engine.play(status(503), directives());
    let asked = 0;
    const headers = () => {
      asked += 1;
      return { authorization: `Bearer ${asked}` };
    };
    await shellWith({ headers }).send("go");
    assert.deepEqual(
      engine.asked.map((request) => request.headers.authorization),
      ["Bearer 1", "Bearer 2"],
    );
  });
});
