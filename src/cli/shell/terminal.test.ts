/** The dialogue with a person: what was typed before a question does not answer it, and a question is not written over. */

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { until } from "../../../test/support/client.ts";
import { styleFor } from "../terminal/style.ts";
import { Terminal } from "./terminal.ts";

function start() {
  const input = new PassThrough();
  const output = new PassThrough();
  let written = "";
  output.setEncoding("utf8").on("data", (text: string) => {
    written += text;
  });
  const terminal = new Terminal(input, output, styleFor({ isTerminal: true, env: { NO_COLOR: "1" } }));
  return {
    terminal,
    written: () => written,
    /** Types, and waits until it was read. */
    async type(keys: string) {
      input.write(keys);
      await until(
        async () => input.readableLength,
        (left) => left === 0,
      );
      await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.dispose]: () => terminal.close(),
  };
}

test("SHL-43 keys typed before a question do not answer it", async () => {
  // Given keys that were typed before a question was there, when it is asked, then they do not answer it.
  using person = start();
  person.terminal.progress("working");
  await person.type("y\ry\ryes");
  assert.doesNotMatch(person.written(), /y\r|yes/, "and they are not shown");
  const reply = person.terminal.ask("Approve? ");
  await person.type("n\r");
  assert.deepEqual(await reply, { kind: "line", text: "n" });
});

test("SHL-43 output appears above an open question and keeps what was typed", async () => {
  // Given a question that is open, when something else has to be shown, then it is shown above and what was typed is
  // kept.
  using person = start();
  const reply = person.terminal.ask("Approve? ");
  await person.type("ye");
  person.terminal.progress("working");
  person.terminal.print("* a message");
  assert.match(person.written(), /\* a message\n[\s\S]*Approve\? ye/);
  assert.doesNotMatch(person.written(), /working/, "a question is not covered by what goes on beside it");
  await person.type("s\r");
  assert.deepEqual(await reply, { kind: "line", text: "yes" });
});

test("SHL-46 a withdrawn question gets no answer and the next one gets its own", async () => {
  // Given a question that is withdrawn, when its time is over, then it has no answer and the next one has its own.
  using person = start();
  const given = new AbortController();
  const reply = person.terminal.ask("Approve? ", given.signal);
  await person.type("ye");
  given.abort();
  assert.deepEqual(await reply, { kind: "aborted" });
  assert.deepEqual(await person.terminal.ask("Approve? ", given.signal), { kind: "aborted" });
  const next = person.terminal.ask("> ");
  await person.type("hello\r");
  assert.deepEqual(await next, { kind: "line", text: "hello" });
});

test("SHL-46 pressing Ctrl-C interrupts and Ctrl-D ends the input, with or without a question", async () => {
  // Given Ctrl-C and Ctrl-D, when they are pressed, then each is what it is, with a question and without.
  using person = start();
  let interrupts = 0;
  person.terminal.onInterrupt(() => {
    interrupts += 1;
  });
  await person.type("\u0003");
  assert.equal(interrupts, 1);
  const first = person.terminal.ask("> ");
  await person.type("typed\u0003");
  await person.type("\u0003");
  assert.deepEqual(await first, { kind: "interrupt" });
  assert.equal(interrupts, 1);
  const second = person.terminal.ask("> ");
  await person.type("\u0004");
  assert.deepEqual(await second, { kind: "end" });
  assert.equal(person.terminal.isEnded, true);
  assert.deepEqual(await person.terminal.ask("> "), { kind: "end" });
});
