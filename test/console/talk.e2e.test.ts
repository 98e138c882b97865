/** First minutes, conversations and receipts, in a real browser. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { noBrowser } from "../support/browser.ts";
import { type ConsoleWorld, signIn, startConsole } from "../support/console.ts";
import { adminKey } from "../support/server.ts";

describe("talking in the console", { skip: noBrowser }, () => {
  let world: ConsoleWorld;
  before(async () => {
    world = await startConsole();
  });
  after(() => world[Symbol.asyncDispose]());

  test("CON-12 an empty server offers its tour, which is watched live", async () => {
    const { page, complaints, strays } = await world.open("/runs");
    await signIn(page);
    await page.getByText("npx bridle init my-agents").waitFor();
    await page.getByRole("button", { name: "Run the tour agent" }).click();
    await page.waitForURL(/\/runs\/task_.*tab=timeline/);
    await page.getByRole("button", { name: /ask What shall this release/ }).waitFor();
    assert.deepEqual({ complaints, strays }, { complaints: [], strays: [] });
    await page.close();
  });

  test("CON-13, CON-19 an agent is talked to, asks, is answered; its frames are read; a fork is made", async () => {
    const { page, complaints, strays } = await world.open("/talk?agent=rehearsal");
    await signIn(page);
    await page.getByLabel("Message").fill("say **Hello**");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("ask Which region?");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/talk\/session_/);
    await page.locator(".turn--agent .turn__body strong", { hasText: /^Hello$/ }).waitFor();
    await page.getByText("The agent waits for you").waitFor();
    await page.getByLabel("Your answer").fill("eu-west");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("You said: eu-west").waitFor();

    await page.getByLabel("Message").fill("say And again");
    await page.keyboard.press("Enter");
    await page.getByText("And again", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Frames" }).last().click();
    const frames = page.getByRole("list", { name: "Frames" });
    await frames.getByText(/event: task\.completed/).waitFor();
    await page.getByLabel("Protocol").selectOption("a2a");
    await frames.getByText(/"jsonrpc":"2\.0".*TASK_STATE_COMPLETED/).waitFor();
    const first = page.url();
    await page.getByRole("button", { name: "Fork from here" }).first().click();
    await page.waitForURL((url) => url.pathname.startsWith("/talk/session_") && url.href !== first);
    await page.getByText("You said: eu-west").waitFor();
    assert.equal(await page.getByText("And again", { exact: true }).count(), 0);

    await page.goto(`${world.server.url}/talk?agent=tour`);
    await page.getByRole("button", { name: "Agent card" }).click();
    await page.getByText(/^Signed by this server's key key_/).waitFor();
    await page.getByLabel("Proofread ms").fill("1");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Orders above 500 wait for a person").waitFor();
    await page.getByLabel("name").fill("Ada");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText(/^Approved by admin/).waitFor();
    assert.deepEqual({ complaints, strays }, { complaints: [], strays: [] });
    await page.close();
  });

  test("CON-15 a key is made for a role, signs in with it, and ends with its revocation", async () => {
    const { page, complaints, strays } = await world.open("/keys");
    await signIn(page);
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByLabel("Name").fill("Ann's laptop");
    await page.getByLabel("Whose it is").fill("ann");
    await page.getByLabel("What it may do").selectOption("approve");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const key = (await page.locator(".key__secret code").textContent()) ?? "";
    assert.match(key, /^bridle_key_/);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByText("approvals:write").waitFor();
    assert.ok(!(await page.content()).includes(key), "it is shown once");

    const ann = await world.open("/runs");
    await signIn(ann.page, key);
    assert.equal(await ann.page.getByRole("link", { name: "Keys" }).count(), 0);
    await page.getByRole("button", { name: "Revoke Ann's laptop" }).click();
    await page.getByRole("button", { name: "Revoke the key" }).click();
    await page.getByText(/^Revoked/).waitFor();
    await ann.page.getByText("Your session has ended, or the key was revoked.").waitFor();
    assert.deepEqual({ complaints, strays }, { complaints: [], strays: [] });
    await Promise.all([page.close(), ann.page.close()]);
  });

  test("CON-14 receipts and exports from anywhere are verified in the browser, and forged ones are not valid", async () => {
    const { page, complaints, strays } = await world.open("/receipts");
    await signIn(page);
    const session = await world.client.createSession();
    const task = await world.client.rehearse(session.id, "return done");
    const { receipt_id } = (await world.client.get(`/v1/tasks/${task.id}`)).body;
    const receipt = (await world.client.get(`/v1/receipts/${receipt_id}`)).body;
    const jwks = (await world.client.get("/.well-known/jwks.json")).body;
    const verify = async (content: string) => {
      await page.getByLabel("Or paste it").fill(content);
      await page.getByRole("button", { name: "Verify" }).click();
    };
    await verify(JSON.stringify(receipt));
    await page.getByText("The receipt is valid.").waitFor();
    await verify(JSON.stringify({ ...receipt, issued_at: "2026-01-01T00:00:00Z" }));
    await page.getByText(/^The receipt is not valid/).waitFor();
    await verify("neither");
    await page.getByText("This is neither a receipt nor an export of receipts.").waitFor();

    await world.client.rehearse(session.id, "fail it broke");
    await page.getByRole("link", { name: "Walk the chain" }).click();
    const strip = page.getByRole("list", { name: "Chain of receipts" });
    await strip.getByRole("button").first().focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/receipt=receipt_/);
    await page.getByText("The receipt is valid.").waitFor();
    await page.getByText(/^Proved: receipt \d+ of \d+\.$/).waitFor();
    await page.locator(".check--ok", { hasText: "chain_link" }).waitFor();
    await page.getByRole("link", { name: "Receipts", exact: true }).last().click();

    await page.getByLabel("Keys to verify with").selectOption("own");
    await page.getByLabel("Key set").fill(JSON.stringify(jwks));
    const address = `${world.server.url}/v1/workspaces/workspace_default/receipts/export`;
    const exported = await (await fetch(address, { headers: world.client.headers() })).text();
    await page.getByLabel("Choose a file").setInputFiles({
      name: "chain.jsonl",
      mimeType: "application/jsonl",
      buffer: Buffer.from(exported),
    });
    await page.getByText(/Every receipt is valid and linked/).waitFor();
    await verify(exported.replace(/"issued_at":"[^"]+"/, '"issued_at":"2026-01-01T00:00:00Z"'));
    await page.getByText(/not valid:/).waitFor();
    assert.ok(!(await page.content()).includes(adminKey));
    assert.deepEqual({ complaints, strays }, { complaints: [], strays: [] });
    await page.close();
  });
});
