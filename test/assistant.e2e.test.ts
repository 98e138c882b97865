/** The assistant, as whoever talks to it knows it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Shell } from "../src/sdk/shell/index.ts";
import { ModelServer } from "./support/model-server.ts";
import { adminKey, startProcess } from "./support/server.ts";

test("AST-8 the assistant answers a shell's first words and remembers them the next time", async () => {
  // Given a conversation that begins with its first words, when the assistant is told them by a shell, then it answers,
  // and knows them the next time.
  await using models = await new ModelServer().start();
  models.reply({ text: "Hello, Ada." }, { text: "Ada." });
  await using server = await startProcess({
    env: { BRIDLE_LOCAL_MODEL_URL: `${models.url}/v1`, BRIDLE_MODEL: "local/llama3.3" },
  });
  const heard: unknown[] = [];
  const shell = new Shell({
    url: `${server.url}/openharness/v1`,
    headers: { authorization: `Bearer ${adminKey}` },
    taskHint: { sop_id: "assistant" },
    handlers: { render_message: ({ payload }) => void heard.push(payload.text) },
  });
  await shell.send("I am Ada.");
  await shell.send("Who am I?");
  assert.deepEqual(heard, ["Hello, Ada.", "Ada."]);
  assert.match(JSON.stringify(models.requests[1]?.body), /I am Ada\..*Hello, Ada\..*Who am I\?/);
});
