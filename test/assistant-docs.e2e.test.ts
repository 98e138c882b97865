/** The commands in the page about the assistant are run as they are written, with a model of one's own. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ModelServer } from "./support/model-server.ts";
import { startServer, temporaryDirectory } from "./support/server.ts";

const page = fileURLToPath(new URL("../docs/assistant.md", import.meta.url));

test("AST-6 given the commands of docs/assistant.md, when they are run one after the other, then the assistant asks, writes and hands over as the page says", async () => {
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
