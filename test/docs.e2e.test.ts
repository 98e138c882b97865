/** The code in the pages is run as it is written; test/support/docs.ts says how blocks are marked. */

import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { blocksOf, isActed, pages } from "./support/docs.ts";
import { ModelServer } from "./support/model-server.ts";
import { runPage } from "./support/run-docs.ts";
import { startServer, type TestServer, temporaryDirectory } from "./support/server.ts";
import { noTerminal } from "./support/terminal.ts";

const runnable = pages.filter((page) => blocksOf(page).some(isActed));
/** They start servers of their own; all others use one together. */
const withServer = runnable.filter((page) => blocksOf(page).some(({ words }) => words.has("background")));
const shared = runnable.filter((page) => !withServer.includes(page));

const quietly = { BRIDLE_LOG_LEVEL: "warn", BRIDLE_GRPC_PORT: "0" };

/** A port that nobody has, for a server whose address must be known before it starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("A TCP server has a port.");
  return address.port;
}

/** What the model says in docs/guides/assistant.md, the only page that needs one. */
function scriptAssistant(models: ModelServer): void {
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
}

describe("pages that use a server", { concurrency: 2 }, () => {
  const models = new ModelServer();
  let place: { path: string } & AsyncDisposable;
  let server: TestServer;
  let key: string;

  before(async () => {
    await models.start();
    scriptAssistant(models);
    place = await temporaryDirectory();
    const data = join(place.path, ".bridle");
    await mkdir(data);
    const env = {
      BRIDLE_API_KEY: undefined,
      BRIDLE_LOCAL_MODEL_URL: `${models.url}/v1`,
      BRIDLE_MODEL: "local/llama3.3",
    };
    server = await startServer({ data, env });
    key = (await readFile(join(data, "admin.key"), "utf8")).trim();
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await models[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  for (const page of shared) {
    test(`DCS-1 given ${page}, when its blocks are run from top to bottom, then they print what it says`, async () => {
      const { url, data } = server;
      await runPage(page, { url, data, env: { BRIDLE_DATA: data, BRIDLE_KEY: key } });
    });
  }
});

describe("pages that start a server", { concurrency: 2 }, () => {
  for (const page of withServer) {
    const skip = blocksOf(page).some(({ words }) => words.has("dialogue")) && noTerminal;
    test(`DCS-1 given ${page}, when its blocks are run from top to bottom, then they print what it says`, {
      skip,
    }, async () => {
      const port = String(await freePort());
      await runPage(page, { url: `http://127.0.0.1:${port}`, env: { ...quietly, BRIDLE_PORT: port } });
    });
  }
});
