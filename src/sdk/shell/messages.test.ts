/** What goes to the engine and what is taken from it: versions, capabilities, forms, limits. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  answer,
  directives,
  failed,
  message,
  type ScriptedEngine,
  say,
  scriptedEngine,
  sendJson,
} from "../../../test/support/scripted-engine.ts";
import { Shell, ShellError, type ShellOptions } from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
beforeEach(() => {
  engine.asked.length = 0;
});
after(() => engine[Symbol.asyncDispose]());

const said: string[] = [];
function shellWith(options: Partial<ShellOptions> = {}): Shell {
  said.length = 0;
  const handlers = { render_message: ({ payload }: { payload: object }) => void said.push(textOf(payload)) };
  return new Shell({ url: engine.url, stream: false, handlers, ...options });
}

function textOf(payload: object): string {
  return "text" in payload ? String(payload.text) : "";
}

function isShellError(code: string, text: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ShellError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  };
}

describe("requests", () => {
  test("SHL-1 an intent message carries version, unique id, shell identity and session", async () => {
    // Given a shell, when it sends an intent, then the message says the version, an id of its own, who it is and whose
    // conversation it is.
    engine.play(directives());
    const shell = shellWith({
      headers: async () => ({ authorization: "Bearer k" }),
      identity: { shell_kind: "com.example.kiosk", locale: "en-GB" },
      auth: { tenant_id: "t1" },
      taskHint: { sop_id: "releaser" },
      sessionId: "sess_1",
      conversationId: "tab_2",
    });
    await shell.send("hello", { attachments: [{ ref_id: "art_1", filename: "a.pdf" }] });
    await shell.send({ want: "more" });
    const [first, second] = engine.asked;
    assert.equal(first?.headers.authorization, "Bearer k");
    assert.equal(first?.headers["content-type"], "application/json");
    const { protocol_version, request_id, request } = first?.body ?? {};
    assert.equal(protocol_version, "1.0.0");
    assert.match(request_id, /^req_[0-9a-f]{32}$/);
    assert.notEqual(second?.body.request_id, request_id);
    assert.deepEqual(request, {
      auth: { tenant_id: "t1" },
      context: {
        session_id: "sess_1",
        conversation_id: "tab_2",
        user_intent: "hello",
        task_hint: { sop_id: "releaser" },
        attachments: [{ ref_id: "art_1", filename: "a.pdf" }],
        shell: { shell_kind: "com.example.kiosk", locale: "en-GB" },
      },
    });
    assert.deepEqual(second?.body.request.context.user_intent, { want: "more" });
  });

  test("SHL-2 advertises exactly the capabilities that the program registers", async () => {
    // Given what a program registers, when the shell says what it can do, then it offers that and nothing else.
    engine.play(directives());
    await shellWith().send("a");
    await shellWith({
      stream: true,
      approve: () => false,
      handlers: { render_ui: () => undefined },
      capabilities: { "com.example.speech": { voice: "low" }, "openharness.actions.parallel": false },
    }).send("b");
    assert.deepEqual(engine.asked[0]?.body.capabilities, {
      "openharness.actions.parallel": true,
      "com.bridle.outcomes": true,
    });
    assert.deepEqual(engine.asked[1]?.body.capabilities, {
      "openharness.streaming": true,
      "openharness.actions.parallel": false,
      "openharness.ui.rich_cards": true,
      "openharness.ui.approval": true,
      "com.bridle.outcomes": true,
      "com.example.speech": { voice: "low" },
    });
    assert.equal(engine.asked[0]?.headers.accept, "application/json");
    assert.match(engine.asked[1]?.headers.accept ?? "", /text\/event-stream/);
  });

  test("SHL-9 rejects embedded attachments and oversized messages before anything is sent", async () => {
    // Given attachments that are no references, or more than a message holds, when they are sent, then they are refused
    // here and nothing goes out.
    const shell = shellWith();
    const embedded = { attachments: [{ uri: "data:text/plain;base64,aGk=" }] };
    await assert.rejects(shell.send("x", embedded), isShellError("invalid_argument", /reference/));
    await assert.rejects(
      shell.send("x", { attachments: [{ filename: "a" }] }),
      isShellError("invalid_argument", /ref_id/),
    );
    await assert.rejects(
      shell.send("x".repeat(2_000_000)),
      isShellError("invalid_argument", /Upload large content/),
    );
    assert.deepEqual(engine.asked, []);
    assert.equal(shell.isOpen, false, "what was not sent is not waited for");
  });

  test("SHL-40 given a turn that is not over, when another is begun, then it is refused", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    engine.play(async (asked, reply) => {
      await held;
      sendJson(reply, message(asked, {}));
    });
    const shell = shellWith();
    const first = shell.send("one");
    await assert.rejects(shell.send("two"), isShellError("busy", /one turn at a time/));
    release();
    assert.equal((await first).status, "completed");
  });

  test("SHL-1 given options that cannot be meant, when a shell is made, then they are refused", () => {
    assert.throws(() => shellWith({ url: "ftp://x" }), isShellError("invalid_argument", /http/));
    assert.throws(
      () => shellWith({ handlers: { request_approval: () => true } }),
      isShellError("invalid_argument", /request_approval/),
    );
  });
});

describe("responses", () => {
  test("SHL-3 exposes what the engine offers and what it denies after its first answer", async () => {
    // Given an engine that denies something, when it has answered, then the program knows what it offers and what it
    // denies.
    const shell = shellWith();
    assert.equal(shell.engine, undefined);
    engine.play(
      answer(
        {},
        {
          supported_protocol_versions: ["1.0.0", "1.1.0"],
          supported_capabilities: { "openharness.attachments.upload": true },
          capability_denials: [
            { capability: "openharness.ui.rich_cards", code: "not_supported", message: "No cards here." },
          ],
        },
      ),
    );
    await shell.send("hello");
    assert.deepEqual(shell.engine, {
      protocolVersion: "1.0.0",
      supportedProtocolVersions: ["1.0.0", "1.1.0"],
      capabilities: { "openharness.attachments.upload": true },
      denials: [
        { capability: "openharness.ui.rich_cards", code: "not_supported", message: "No cards here." },
      ],
    });
  });

  test("SHL-4 accepts a newer minor version and rejects another major, naming both versions", async () => {
    // Given a newer minor version, when it answers, then it is understood; given another major, then it is an error that
    // names both and nothing runs.
    engine.play((asked, reply) =>
      sendJson(reply, { ...message(asked, { action_directives: [say("new")] }), protocol_version: "1.7.2" }),
    );
    assert.equal((await shellWith().send("a")).status, "completed");
    assert.deepEqual(said, ["new"]);

    engine.play((asked, reply) =>
      sendJson(reply, {
        ...message(asked, { action_directives: [say("wrong")] }),
        protocol_version: "2.0.0",
        supported_protocol_versions: ["2.0.0"],
      }),
    );
    const shell = shellWith();
    await assert.rejects(
      shell.send("a"),
      isShellError("protocol_version_unsupported", /2\.0\.0.*speaks 1\.0\.0/),
    );
    assert.deepEqual(said, []);
  });

  test("SHL-4 the turn lists the engine's versions if it rejects ours", async () => {
    // Given an engine that refuses our version, when it answers, then the turn says which versions it has.
    engine.play(
      answer(
        {
          status: "error",
          error: {
            code: "protocol_version_unsupported",
            message: "This engine accepts 3.0.x only.",
            retryable: true,
          },
        },
        { supported_protocol_versions: ["3.0.0"] },
      ),
    );
    const { status, error } = await shellWith().send("a");
    assert.equal(status, "failed");
    assert.match(error?.message ?? "", /accepts 3\.0\.x only.*speaks 1\.0\.0.*supports 3\.0\.0/);
    assert.equal(engine.asked.length, 1, "the same message would be refused again");
  });

  test("SHL-5 ignores unknown members at every level", async () => {
    // Given members that nobody knows at every level, when they come, then they are ignored.
    const unknown = { later: { deep: [1] }, __proto__x: 1 };
    engine.play((asked, reply) => {
      const directive = { ...say("fine"), ...unknown, extensions: { "com.other": unknown, ...unknown } };
      const { response, ...rest } = message(asked, { action_directives: [directive], ...unknown }) as {
        response: object;
      };
      sendJson(reply, {
        ...rest,
        ...unknown,
        capability_denials: [{ capability: "x", ...unknown }],
        response: { ...response, extensions: { "com.bridle": { not_taken: 7, run_status: {} } } },
      });
    });
    assert.equal((await shellWith().send("a")).status, "completed");
    assert.deepEqual(said, ["fine"]);
  });

  const malformed: { what: string; body: unknown; path: RegExp }[] = [
    { what: "a list", body: [], path: /the message must be an object/ },
    { what: "no version", body: { response: { status: "success" } }, path: /protocol_version/ },
    {
      what: "a version that is none",
      body: { protocol_version: "one", response: { status: "success" } },
      path: /protocol_version/,
    },
    { what: "no response", body: { protocol_version: "1.0.0" }, path: /response must be an object/ },
    { what: "no status", body: { protocol_version: "1.0.0", response: {} }, path: /response\.status/ },
    {
      what: "an unknown status",
      body: { protocol_version: "1.0.0", response: { status: "perhaps" } },
      path: /response\.status/,
    },
    ...[
      { directive: "render", path: /action_directives\[1\] must be an object/ },
      { directive: {}, path: /action_directives\[1\]\.action_type/ },
      { directive: { action_type: 7 }, path: /action_type/ },
      { directive: { ...say("x"), payload: "x" }, path: /payload must be an object/ },
      { directive: { ...say("x"), requires_user_approval: "no" }, path: /requires_user_approval/ },
      { directive: { ...say("x"), risk_tier: 0 }, path: /risk_tier/ },
      { directive: { ...say("x"), deadline_ms: -1 }, path: /deadline_ms/ },
      { directive: { ...say("x"), deadline_ms: "soon" }, path: /deadline_ms/ },
    ].map(({ directive, path }) => ({
      what: `the directive ${JSON.stringify(directive)}`,
      body: {
        protocol_version: "1.0.0",
        response: { status: "success", action_directives: [say("first"), directive] },
      },
      path,
    })),
  ];
  for (const { what, body, path } of malformed) {
    test(`SHL-6 rejects ${what} as a response, names the place and runs nothing of it`, async () => {
      // Given ${what} as a response, when it comes, then it is an error that names the place, and nothing of it runs.
      engine.play((_asked, reply) => sendJson(reply, body));
      await assert.rejects(shellWith().send("a"), isShellError("malformed_response", path));
      assert.deepEqual(said, []);
      assert.equal(engine.asked.length, 1, "a malformed response is not asked for again");
    });
  }

  test("SHL-6 given text that is not JSON, when it comes, then it is an error that says so", async () => {
    engine.play((_asked, reply) => void reply.end("<html>hello</html>"));
    await assert.rejects(shellWith().send("a"), isShellError("malformed_response", /not JSON/));
  });

  test("SHL-7 rejects a response to another request and runs nothing of it", async () => {
    // Given a response to somebody else's request, when it comes, then it is refused and nothing of it runs.
    engine.play((asked, reply) =>
      sendJson(reply, { ...message(asked, { action_directives: [say("x")] }), request_id: "req_other" }),
    );
    await assert.rejects(shellWith().send("a"), isShellError("malformed_response", /another request/));
    assert.deepEqual(said, []);
  });

  test("SHL-8 aborts a response that grows past the size limit", async () => {
    // Given a response that does not end, when it grows past the limit, then it is given up.
    engine.play((_asked, reply) => {
      const chunk = Buffer.alloc(1024 * 1024, " ");
      const more = () => {
        while (!reply.destroyed && reply.write(chunk));
      };
      reply.on("drain", more);
      more();
    });
    await assert.rejects(shellWith().send("a"), isShellError("response_too_large", /more than \d+ bytes/));
  });

  test("SHL-8 rejects a response with too many directives", async () => {
    // Given more directives than anybody can follow, when they come, then the response is refused.
    engine.play(directives(...Array.from({ length: 1001 }, () => say("x"))));
    await assert.rejects(shellWith().send("a"), isShellError("malformed_response", /at most 1000/));
    assert.deepEqual(said, []);
  });

  test("SHL-38 a failed run shows its earlier output and returns the engine's error", async () => {
    // Given a run that failed, when the response comes, then what was said before is shown and the turn has the engine's
    // error.
    engine.play((asked, reply) =>
      sendJson(
        reply,
        message(asked, {
          status: "error",
          action_directives: [say("I tried.")],
          error: {
            code: "policy_denied",
            message: "Not allowed.",
            retryable: false,
            details: { run_id: "r1" },
          },
        }),
      ),
    );
    const shell = shellWith();
    const turn = await shell.send("a");
    assert.equal(turn.status, "failed");
    assert.equal(turn.error?.code, "policy_denied");
    assert.equal(turn.error?.message, "Not allowed.");
    assert.deepEqual(said, ["I tried."]);
    assert.equal(shell.isOpen, false);
  });

  test("SHL-38 given an engine that only says error, when it answers, then that is an error too", async () => {
    engine.play(answer({ status: "error" }));
    assert.equal((await shellWith().send("a")).error?.code, "engine_error");
    engine.play(failed("unknown_sop"));
    assert.equal((await shellWith().send("a")).error?.code, "unknown_sop");
  });
});
