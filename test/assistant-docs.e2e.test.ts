/** The commands in the page about the assistant are run as they are written, with a model of one's own. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Shell } from "../src/shell/index.ts";
import { ModelServer } from "./support/model-server.ts";
import { adminKey, startServer, temporaryDirectory } from "./support/server.ts";

const page = fileURLToPath(new URL("../docs/guides/assistant.md", import.meta.url));

test("AST-6 given the commands of docs/guides/assistant.md, when they are run one after the other, then the assistant asks, writes and hands over as the page says", async () => {
  await using models = await new ModelServer().start();
  models.reply(
    { toolCalls: [{ name: "files_write", input: { path: "notes/meeting.md", text: "Friday." } }] },
    { text: "Noted." },
    // Whom it can hand work to is in what the model is told.
    ({ body }) => {
      const [to = ""] = /persona_\w+/.exec(JSON.stringify(body)) ?? [];
      return { toolCalls: [{ name: "hand_off", input: { to, work: "When is the meeting?" } }] };
    },
    { text: "On Friday." },
    { text: "The meeting is on Friday." },
  );
  await using directory = await temporaryDirectory();
  const data = join(directory.path, ".bridle");
  await mkdir(data);
  const env = {
    BRIDLE_API_KEY: undefined,
    BRIDLE_LOCAL_MODEL_URL: `${models.url}/v1`,
    BRIDLE_MODEL: "local/llama3.3",
  };
  await using server = await startServer({ data, env });
  const text = await readFile(page, "utf8");
  const blocks = [...text.matchAll(/^```sh run\n(.*?)^```/gms)].map(([, block]) => block ?? "");
  assert.equal(blocks.length, 5);
  const script = blocks.join("\n").replaceAll("http://127.0.0.1:8080", server.url);
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: directory.path,
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    timeout: 120_000,
  });
  assert.deepEqual(stdout.trim().split("\n"), [
    "write notes/meeting.md",
    "approved",
    "Noted.",
    "Friday.",
    "The meeting is on Friday.",
  ]);
});

test("AST-8 given a conversation that begins with its first words, when the assistant is told them by a shell, then it answers, and knows them the next time", async () => {
  await using models = await new ModelServer().start();
  models.reply({ text: "Hello, Ada." }, { text: "Ada." });
  await using server = await startServer({
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
