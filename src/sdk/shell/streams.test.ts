/** Responses that come as streams: carried out as they arrive, once each, also over lines that break. */

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import {
  type Asked,
  continuation,
  directives,
  errorOf,
  message,
  named,
  type ScriptedEngine,
  say,
  scriptedEngine,
  sendJson,
  stream,
} from "../../../test/support/scripted-engine.ts";
import { type Directive, type Progress, Shell, type ShellOptions } from "./index.ts";

let engine: ScriptedEngine;
before(async () => {
  engine = await scriptedEngine();
});
let log: string[];
let progress: Progress[];
beforeEach(() => {
  log = [];
  progress = [];
  engine.asked.length = 0;
});
after(() => engine[Symbol.asyncDispose]());

function shellWith(options: Partial<ShellOptions> = {}): Shell {
  return new Shell({
    url: engine.url,
    onProgress: (step) => progress.push(step),
    retry: { firstDelayMs: 1 },
    handlers: { render_message: ({ payload }: Directive) => void log.push(String(payload.text)) },
    ...options,
  });
}

const whole = (asked: Asked, ...list: object[]) => message(asked, { action_directives: list });
const [one, two, three] = ["one", "two", "three"].map((text) => say(text, named(text, "message"))) as [
  object,
  object,
  object,
];

describe("streams", () => {
  test("SHL-10 runs a streamed directive before the response comes, and not again with it", async () => {
    // Given a stream, when a directive's frame comes, then it is carried out before the response is there, and not again
    // with it.
    const { promise: seen, resolve: see } = Promise.withResolvers<void>();
    engine.play(async (asked, reply) => {
      const { directive, frame, end } = stream(reply);
      directive(asked, 1, one);
      await seen;
      directive(asked, 2, two);
      frame("response", whole(asked, one, two, three));
      end();
    });
    const shell = shellWith({
      handlers: {
        render_message: ({ payload }) => {
          log.push(String(payload.text));
          see();
        },
      },
    });
    const turn = await shell.send("go");
    assert.deepEqual(log, ["one", "two", "three"]);
    assert.equal(turn.outcomes.length, 3);
  });

  test("SHL-10 matches unnamed directives in the response to streamed ones by position", async () => {
    // Given directives without names, when the response has them again, then their place tells that they are the same.
    engine.play((asked, reply) => {
      const { directive, frame, end } = stream(reply);
      directive(asked, 1, say("same"));
      directive(asked, 2, say("same"));
      frame("response", whole(asked, say("same"), say("same"), say("other")));
      end();
    });
    await shellWith().send("go");
    assert.deepEqual(log, ["same", "same", "other"]);
  });

  test("SHL-11 accepts a plain answer from an engine that does not stream", async () => {
    // Given an engine that does not stream, when it answers a shell that could, then the answer is taken as it is.
    engine.play(directives(one));
    assert.equal((await shellWith().send("go")).status, "completed");
    assert.deepEqual(log, ["one"]);
  });

  test("SHL-11 a stream to a shell that does not stream is an error and runs nothing", async () => {
    // Given a shell that does not stream, when the engine streams all the same, then that is an error and nothing runs.
    engine.play((asked, reply) => stream(reply).directive(asked, 1, one));
    const { code } = await errorOf(shellWith({ stream: false }).send("go"));
    assert.equal(code, "malformed_response");
    assert.deepEqual(log, []);
  });

  test("SHL-12 resumes a broken stream with the same message and runs nothing twice", async () => {
    // Given a stream that is cut, when the same message is sent again, then it goes on where it was and nothing runs
    // twice.
    for (const [first, second] of [
      [one, two],
      [say("one"), say("two")],
    ] as const) {
      log.length = 0;
      engine.asked.length = 0;
      engine.play(
        (asked, reply) => {
          const { directive } = stream(reply);
          directive(asked, 1, first);
          // Half a frame that never becomes whole.
          reply.write(
            'event: directive\ndata: {"sequence":2,"action_directive":{"action_type":"render_message"',
          );
          reply.end();
        },
        (asked, reply) => {
          const { directive, frame, end } = stream(reply);
          directive(asked, 1, first);
          directive(asked, 2, second);
          frame("response", whole(asked, first, second));
          end();
        },
      );
      await shellWith().send("go");
      assert.deepEqual(log, ["one", "two"]);
      assert.equal(engine.asked.length, 2);
      assert.equal(engine.asked[1]?.text, engine.asked[0]?.text, "the same message, byte for byte");
    }
  });

  test("SHL-13 directives after a missing frame wait for the response and its order", async () => {
    // Given frames of which one is missing, when they come, then what follows waits for the response, which has the
    // order.
    engine.play(async (asked, reply) => {
      const { directive, frame, end } = stream(reply);
      directive(asked, 1, one);
      directive(asked, 3, three);
      frame("response", whole(asked, one, two, three));
      end();
    });
    await shellWith().send("go");
    assert.deepEqual(log, ["one", "two", "three"]);
  });

  test("SHL-14 reports progress from both frames and directives", async () => {
    // Given progress as frames and as directives, when it comes, then the program hears of it.
    engine.play((asked, reply) => {
      const { frame, end } = stream(reply);
      frame("progress", { sequence: 1, progress: { message: "reading", percent: 40 } });
      frame("progress", { sequence: 2, progress: { percent: 400 } });
      frame("later", { sequence: 3 });
      const directive = { action_type: "com.bridle.progress", payload: { message: "writing", percent: 80 } };
      frame("response", whole(asked, directive));
      end();
    });
    await shellWith().send("go");
    assert.deepEqual(progress, [
      { message: "reading", percent: 40 },
      { message: undefined, percent: 100 },
      { message: "writing", percent: 80 },
    ]);
  });

  test("SHL-10 reads frames in every form that event streams allow", async () => {
    // Given frames in all the forms that event streams allow, when they come, then they are read.
    engine.play((asked, reply) => {
      reply.writeHead(200, { "Content-Type": "TEXT/EVENT-STREAM" });
      const text = JSON.stringify(whole(asked, say("übung")), null, 1);
      const lines = text.split("\n").map((line) => `data:${line}`);
      const bytes = Buffer.from(
        `\ufeff: hello\r\nretry: 5\r\n\r\nevent: response\r\nid: 7\r\n${lines.join("\r\n")}\r\n\r\n`,
      );
      // Cut in the middle of characters and line ends.
      let at = 0;
      const next = () => {
        if (at >= bytes.length) return void reply.end();
        reply.write(bytes.subarray(at, at + 7), () => setImmediate(next));
        at += 7;
      };
      next();
    });
    await shellWith().send("go");
    assert.deepEqual(log, ["übung"]);
  });

  test("SHL-6 a malformed frame is an error, and directives already started finish", async () => {
    // Given a frame that is malformed, when it comes, then it is an error, and what began before has its end.
    const ended: string[] = [];
    engine.play((asked, reply) => {
      const { directive, frame } = stream(reply);
      directive(asked, 1, { action_type: "slow" });
      frame("directive", { sequence: 2, action_directive: { payload: {} } });
    });
    const shell = shellWith({
      handlers: {
        slow: async () => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          ended.push("slow");
        },
      },
    });
    const error = await errorOf(shell.send("go"));
    assert.match(error.message, /action_directive\.action_type/);
    assert.deepEqual(ended, ["slow"]);
  });

  test("SHL-8 given a frame without end, when it grows past the limit, then the stream is given up", async () => {
    engine.play((_asked, reply) => {
      reply.writeHead(200, { "Content-Type": "text/event-stream" });
      reply.write("event: directive\ndata: ");
      const chunk = Buffer.alloc(1024 * 1024, "x");
      const more = () => {
        while (!reply.destroyed && reply.write(chunk));
      };
      reply.on("drain", more);
      more();
    });
    const error = await errorOf(shellWith().send("go"));
    assert.equal(error.code, "response_too_large");
  });

  test("SHL-7 rejects frames for another request and runs nothing", async () => {
    // Given frames for somebody else's request, when they come, then they are refused and nothing runs.
    engine.play((asked, reply) =>
      stream(reply).directive({ ...asked, body: { request_id: "req_other" } }, 1, one),
    );
    const error = await errorOf(shellWith().send("go"));
    assert.match(error.message, /another request/);
    assert.deepEqual(log, []);
  });

  test("SHL-36 resuming an aborted stream sends the same message and shows nothing twice", async () => {
    // Given a turn that is given up in the middle of a stream, when it is resumed, then the same message is sent and
    // what was shown is not shown again.
    const given = new AbortController();
    engine.play(
      (asked, reply) => stream(reply).directive(asked, 1, one),
      (asked, reply) =>
        sendJson(reply, message(asked, { action_directives: [one, two], continuation: continuation("t2") })),
    );
    const shell = shellWith({
      handlers: {
        render_message: ({ payload }) => {
          log.push(String(payload.text));
          given.abort();
        },
      },
    });
    const error = await errorOf(shell.send("go", { signal: given.signal }));
    assert.equal(error.code, "canceled");
    assert.equal(shell.isOpen, true);
    await shell.resume();
    assert.deepEqual(log, ["one", "two"]);
    assert.equal(engine.asked[1]?.text, engine.asked[0]?.text);
  });
});
