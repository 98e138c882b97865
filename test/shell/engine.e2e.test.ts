/** The shell against the real engine: what each promises the other, proved together. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  type Directive,
  parseState,
  Shell,
  ShellError,
  type ShellOptions,
  type ShellState,
} from "../../src/sdk/shell/index.ts";
import { defaultConfig } from "../../src/server/config.ts";
import { Client } from "../support/client.ts";
import { config } from "../support/openharness-server.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";
import { bridleInTerminal, noTerminal } from "../support/terminal.ts";

const script = fileURLToPath(new URL("../support/openharness-server.ts", import.meta.url));

let server: TestServer;
let log: string[] = [];
before(async () => {
  // Short waits, so that a run is come back to several times.
  server = await startServer({
    config: { ...config, openHarness: { ...defaultConfig.openHarness, waitMs: 300 } },
  });
});
after(() => server[Symbol.asyncDispose]());

function shellFor(agent: string, options: Partial<ShellOptions> = {}): Shell {
  log = [];
  return new Shell({
    url: `${server.url}/openharness/v1`,
    headers: { authorization: `Bearer ${adminKey}` },
    taskHint: { sop_id: agent },
    retry: { firstDelayMs: 20, delayMsMax: 500, attemptsMax: 200 },
    onNotice: (text) => log.push(`notice: ${text}`),
    ...options,
    handlers: {
      render_message: ({ payload }: Directive) => void log.push(String(payload.text)),
      ...options.handlers,
    },
  });
}

describe("shell and engine", () => {
  const ways: [string, () => Partial<ShellOptions>][] = [
    ["SHL-52 the shell handles every agent output by streams", () => ({ stream: true })],
    ["SHL-52 the shell handles every agent output without streams", () => ({ stream: false })],
    [
      "SHL-55 the shell handles every agent output over a WebSocket",
      () => ({ url: `${server.url.replace("http", "ws")}/openharness/v1/ws` }),
    ],
  ];
  for (const [name, way] of ways) {
    test(name, async () => {
      // Given an agent with words, directives, a question and an approval, when the shell talks to it ${stream ? "by
      // streams" : "without streams"}, then each gets what it is owed.
      const hashes: unknown[] = [];
      const shell = shellFor("rehearsal", {
        ...way(),
        handlers: { simulate_action: ({ payload }) => ({ pressed: payload.macro ?? null }) },
        approve: ({ actionType, payload }) => {
          if (actionType === "request_approval") hashes.push(payload.artifact_hash);
          return true;
        },
      });
      const first = await shell.send(
        [
          "say hello",
          'directive simulate_action {"payload":{"macro":"cmd+c"},"risk_tier":"dangerous","requires_user_approval":true}',
          'directive com.example.fly {"payload":{"fallback_message":"Please fly yourself."}}',
          "sleep 700",
          "ask Which region?",
          "approve deploy",
          "return done",
        ].join("\n"),
      );
      assert.deepEqual(
        [first.status, first.awaits, first.question?.text],
        ["open", "answer", "Which region?"],
      );
      const last = await shell.send("eu");
      assert.equal(last.status, "completed", String(last.error));
      assert.deepEqual(log, [
        "hello",
        'Directive simulate_action came to completed: {"pressed":"cmd+c"}',
        "notice: Please fly yourself.",
        log[3],
        "Which region?",
        "You said: eu",
        "Approved: deploy",
        "done",
      ]);
      assert.match(log[3] ?? "", /com\.example\.fly came to skipped/);
      assert.match(String(hashes[0]), /^[0-9a-f]{64}$/);
      assert.equal(shell.isOpen, false);
      assert.match(last.receiptId ?? "", /^receipt_/);
    });
  }

  test("SHL-55 a WebSocket without a key, and headers that it cannot carry, are refused", async () => {
    const url = `${server.url.replace("http", "ws")}/openharness/v1/ws`;
    const retry = { firstDelayMs: 1, attemptsMax: 2 };
    const code = (expected: string) => (error: unknown) =>
      error instanceof ShellError && error.code === expected;
    await assert.rejects(
      shellFor("asker", { url, headers: {}, retry }).send("go"),
      code("connection_failed"),
    );
    const headers = { "x-tenant": "one" };
    await assert.rejects(shellFor("asker", { url, headers, retry }).send("go"), code("invalid_argument"));
  });

  test("SHL-52 parallel sibling directives run together and the agent gets each result", async () => {
    // Given siblings that the agent gives at once, when they are parallel, then they run together and the agent hears of
    // each.
    let running = 0;
    const { promise: both, resolve } = Promise.withResolvers<void>();
    const shell = shellFor("director", {
      handlers: {
        simulate_action: async ({ payload }) => {
          running += 1;
          if (running === 2) resolve();
          await both;
          return payload.n;
        },
      },
    });
    const directive = (n: number) => ({
      action_type: "simulate_action",
      execution: "parallel",
      payload: { n },
    });
    const turn = await shell.send({ directives: [directive(1), directive(2)], parallel: true });
    assert.equal(turn.status, "completed", String(turn.error));
    assert.match(log.at(-1) ?? "", /"completed"[\s\S]*1[\s\S]*"completed"[\s\S]*2/);
  });

  test("SHL-33 a rejected answer leaves the question open, and a valid one is accepted", async () => {
    // Given an answer that does not fit, when the engine refuses it, then the question stays open and the right one is
    // taken.
    const shell = shellFor("asker", { approve: () => true });
    const { question } = await shell.send("go");
    assert.ok(question?.id !== undefined && question.schema !== undefined);
    const wrong = await shell.answer(question.id, { region: 7 });
    assert.deepEqual([wrong.status, wrong.error?.code], ["failed", "invalid_request"]);
    assert.equal(shell.isOpen, true);
    assert.equal((await shell.answer(question.id, { region: "eu" })).status, "completed");
    assert.equal(log.at(-1), "deployed to eu");
  });

  test("SHL-35 given a run that waits, when it is canceled, then it is over for both", async () => {
    const shell = shellFor("asker");
    const { runId } = await shell.send("go");
    const turn = await shell.cancel("changed my mind");
    assert.equal(turn.status, "failed");
    assert.equal(shell.isOpen, false);
    assert.equal((await new Client(server).get(`/v1/tasks/${runId}`)).body.status, "CANCELED");
  });

  test("SHL-30 a run that exceeds one response is heard completely, once and in order", async () => {
    // Given a run that says more than a response holds, when the shell goes on, then it hears everything, once and in
    // order.
    const shell = shellFor("rehearsal");
    const texts = Array.from({ length: 1200 }, (_, n) => `line ${n}`);
    const turn = await shell.send(texts.map((text) => `say ${text}`).join("\n"));
    assert.equal(turn.status, "completed");
    assert.deepEqual(log, texts);
  });

  test("SHL-37 a shell that dies before reporting is resumed, and the directive runs once", async () => {
    // Given a shell that dies between doing and telling, when another goes on with its state, then the agent hears of it
    // and it is done once.
    let pressed = 0;
    let kept: ShellState | null = null;
    const given = new AbortController();
    const first = shellFor("rehearsal", {
      handlers: { simulate_action: () => ({ times: ++pressed }) },
      onStateChange: (state) => {
        // As if the program had ended here: what it knows is on disk, and nothing was sent.
        if (state.reports.length > 0) {
          kept ??= parseState(JSON.parse(JSON.stringify(state)));
          given.abort();
        }
      },
    });
    const script = "directive simulate_action\nreturn done";
    await assert.rejects(first.send(script, { signal: given.signal }));
    assert.ok(kept !== null);
    const second = shellFor("rehearsal", {
      state: kept,
      handlers: { simulate_action: () => ({ times: ++pressed }) },
    });
    assert.equal((await second.resume()).status, "completed");
    assert.equal(pressed, 1);
    assert.deepEqual(log, ['Directive simulate_action came to completed: {"times":1}', "done"]);
  });

  test("SHL-12, SHL-15 the shell continues its turn after the server is killed and restarted", async () => {
    // Given a server that is killed in the middle of a turn, when it is started again, then the shell goes on as if
    // nothing had happened.
    await using data = await temporaryDirectory();
    const before = await startProcess({ script, data: data.path });
    // The server comes back at another port; the shell is led there as a proxy would.
    let url = before.url;
    const { promise: said, resolve } = Promise.withResolvers<void>();
    const shell = shellFor("rehearsal", {
      fetch: (_address, init) => fetch(`${url}/openharness/v1`, init),
      handlers: {
        render_message: ({ payload }) => {
          log.push(String(payload.text));
          resolve();
        },
      },
    });
    const turn = shell.send("say one\nsleep 500\nsay two\nreturn done");
    await said;
    await before.kill();
    await using again = await startServer({ data: data.path, config });
    url = again.url;
    assert.equal((await turn).status, "completed");
    assert.deepEqual(log, ["one", "two", "done"]);
  });

  test("SHL-52 the server records what a person at the terminal answers and approves", {
    skip: noTerminal,
  }, async () => {
    // Given a person at a terminal, when the agent asks and wants permission, then what they decide is what the server
    // recorded.
    await using home = await temporaryDirectory();
    await using chat = bridleInTerminal(["shell", "--agent", "rehearsal", "--url", server.url], {
      env: { BRIDLE_KEY: adminKey, HOME: home.path },
    });
    await chat.sees(/> $/);
    for (const line of ["say hello\\", "ask Which region?\\", "approve deploy\\"]) {
      chat.enter(line);
      await chat.sees(/\.\.\. $/);
    }
    chat.enter("return done");
    await chat.sees(/● hello\n/);
    await chat.sees(/\? Which region\?\n/);
    await chat.sees(/answer> $/);
    chat.enter("eu");
    await chat.sees(/You said: eu\n/);
    const card = await chat.sees(/── Approval[\s\S]*Approve\? .* $/);
    const [, hash] = /Hash +([0-9a-f]{64})\n/.exec(card) ?? [];
    assert.notEqual(hash, undefined);
    chat.enter("yes");
    await chat.sees(/● done\n/);
    await chat.sees(/> $/);
    chat.enter("/quit");
    assert.equal(await chat.ended(), 0);
    const requests = await new Client(server).listAll("/v1/permission-requests");
    assert.equal(requests[0]?.status, "approved");
  });
});
