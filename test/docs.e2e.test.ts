/** The code in the pages is run as it is written; test/support/docs.ts says how blocks are marked. */

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ApprovalStage } from "./support/approvals.ts";
import { blocksOf, isActed, pages } from "./support/docs.ts";
import { modelScripts } from "./support/docs-models.ts";
import { ModelServer } from "./support/model-server.ts";
import { runPage, runPageWithServers } from "./support/run-docs.ts";
import { adminKey, startProcess, type TestProcess, temporaryDirectory } from "./support/server.ts";
import { noTerminal } from "./support/terminal.ts";

const runnable = pages.filter((page) => blocksOf(page).some(isActed));
/** They start servers of their own; all others use one together. */
const withServers = runnable.filter((page) => blocksOf(page).some(({ words }) => words.has("background")));
/** They are about what an approver has signed. */
const aboutSignatures = ["docs/reference/verify.md"];
const shared = runnable.filter((page) => !withServers.includes(page) && !aboutSignatures.includes(page));

describe("pages that use a server", { concurrency: 2 }, () => {
  const models = new ModelServer();
  let place: { path: string } & AsyncDisposable;
  let server: TestProcess;
  let key: string;

  before(async () => {
    await models.start();
    for (const page of shared) models.reply(...(modelScripts[page] ?? []));
    place = await temporaryDirectory();
    const data = join(place.path, ".bridle");
    await mkdir(data);
    const env = {
      BRIDLE_API_KEY: undefined,
      BRIDLE_LOCAL_MODEL_URL: `${models.url}/v1`,
      BRIDLE_MODEL: "local/llama3.3",
    };
    server = await startProcess({ data, env });
    key = (await readFile(join(data, "admin.key"), "utf8")).trim();
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    await models[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  for (const page of shared) {
    test(`DCS-1 the blocks of ${page} print what it says, run in order on a shared server`, async () => {
      // Given ${page}, when its blocks are run from top to bottom, then they print what it says.
      const { url, data } = server;
      await runPage(page, { url, data, env: { BRIDLE_DATA: data, BRIDLE_KEY: key } });
    });
  }
});

describe("pages that start servers", { concurrency: 2 }, () => {
  for (const page of withServers) {
    const skip = blocksOf(page).some(({ words }) => words.has("dialogue")) && noTerminal;
    test(`DCS-1 the blocks of ${page}, which starts its own servers, print what it says`, {
      skip,
    }, async () => {
      // Given ${page}, when its blocks are run from top to bottom, then they print what it says.
      await using models = await new ModelServer().start();
      models.reply(...(modelScripts[page] ?? []));
      await runPageWithServers(page, models.url);
    });
  }
});

for (const page of aboutSignatures) {
  test(`DCS-1 CLT-8 the blocks of ${page} print what it says for a receipt with a signed approval`, async () => {
    // Given ${page} and the receipt of something that an approver signed for, when its blocks are run, then they print
    // what it says.
    await using stage = await ApprovalStage.open();
    const ann = await stage.approver("ann");
    const task = await stage.task(await stage.persona());
    await ann.decide(task, "approve", "go");
    const { receipt_id: BRIDLE_RECEIPT } = await stage.ended(task);
    const { url, data } = stage.server;
    await runPage(page, { url, data, env: { BRIDLE_KEY: adminKey, BRIDLE_RECEIPT } });
  });
}
