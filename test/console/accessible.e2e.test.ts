/** Every page of the console for everybody: with a reader, a keyboard, a phone, in light and in dark. */

import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { noBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { assertAccessible, type ConsoleWorld, signIn, startConsole } from "../support/console.ts";
import { adminKey } from "../support/server.ts";

describe("the console for everybody", { skip: noBrowser }, () => {
  let world: ConsoleWorld;
  before(async () => {
    world = await startConsole();
  });
  after(() => world[Symbol.asyncDispose]());

  async function rehearse(...lines: string[]): Promise<Json> {
    const session = await world.client.createSession();
    return await world.client.rehearse(session.id, ...lines);
  }

  test("CON-9 every page is accessible in both themes, narrow and wide", async () => {
    const { page } = await world.open("/sign-in");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await assertAccessible(page, "sign-in");
    await signIn(page);
    await page.getByRole("button", { name: "Run the tour agent" }).waitFor();
    await assertAccessible(page, "an empty server");
    for (let n = 0; n < 3; n++) await rehearse(`say run ${n}`, "return done");
    await page.getByRole("row").nth(3).waitFor();
    await assertAccessible(page, "runs");
    await page.getByRole("button", { name: /^Account/ }).click();
    await assertAccessible(page, "account");
    const asking = await rehearse(
      "say **Hello**",
      "step measure",
      "artifact notes.txt some notes",
      "ask Which region?",
    );
    const approving = await rehearse("approve deploy");
    const ended = await rehearse("say one", "fail It broke");
    for (const [task, tabs] of [
      [asking, ["Conversation", "Timeline", "Artifacts", "Events", "Receipt"]],
      [approving, ["Conversation"]],
      [ended, ["Conversation", "Receipt"]],
    ] as const) {
      await page.goto(`${world.server.url}/runs/${task.id}`);
      for (const tab of tabs) {
        await page.getByRole("tab", { name: tab }).click();
        await openWhatOpens(page);
        await assertAccessible(page, `${tab} of a run that is ${task.status}`);
      }
    }
    await page.goto(`${world.server.url}/talk`);
    await page.getByRole("heading", { name: /^New conversation/ }).waitFor();
    await assertAccessible(page, "talk");
    await page.goto(`${world.server.url}/talk/${asking.session_id}`);
    await page.getByLabel("Your answer").waitFor();
    await assertAccessible(page, "a conversation");
    await world.client.createKey({ name: "ci", scopes: ["tasks:write"] });
    await page.goto(`${world.server.url}/keys`);
    await page.getByText("tasks:write").waitFor();
    await assertAccessible(page, "keys");
    await page.getByRole("button", { name: "Create a key" }).click();
    await assertAccessible(page, "a new key");
    for (const part of ["overview", "personas", "schedules", "quotas", "connectors", "vaults", "audit"]) {
      await page.goto(`${world.server.url}/operate/${part}`);
      await page.locator("main h1").waitFor();
      await page.getByText("Loading…").waitFor({ state: "hidden" });
      await assertAccessible(page, part);
    }
    await page.goto(`${world.server.url}/operate/personas/persona_rehearsal`);
    await page.getByLabel("autonomy tier").selectOption("shadow");
    await assertAccessible(page, "a persona");
    await page.getByRole("button", { name: "Review the changes" }).click();
    await assertAccessible(page, "changes of a persona");
    await page.goto(`${world.server.url}/runs/${ended.id}/replay`);
    await page.getByRole("button", { name: "Replay as it was" }).waitFor();
    await assertAccessible(page, "replay");
    await page.getByRole("button", { name: "Replay as it was" }).click();
    await page.getByText("The two runs are the same.").waitFor();
    await assertAccessible(page, "comparison");
    await page.goto(`${world.server.url}/receipts`);
    await page.getByLabel("Or paste it").fill("{}");
    await page.getByRole("button", { name: "Verify" }).click();
    await page.getByText("The receipt is not valid").waitFor();
    await assertAccessible(page, "receipts");
    await page.goto(`${world.server.url}/approvals`);
    await page.getByRole("button", { name: "On your phone" }).click();
    await page.getByRole("img", { name: /^QR code of http/ }).waitFor();
    await page.getByText("an address of this computer only").waitFor();
    await assertAccessible(page, "a code for a phone");
    await page.goto(`${world.server.url}/receipts/chain`);
    await page.getByText(/^Proved/).waitFor();
    await assertAccessible(page, "chain");
    await page.goto(`${world.server.url}/runs/task_none`);
    await page.getByText("There is no such run").waitFor();
    await assertAccessible(page, "no such run");
    await page.close();
  });

  test("CON-9 a question is found, answered and left by keyboard alone", async () => {
    const task = await rehearse("ask Which region?");
    const { page } = await world.open("/runs");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type(adminKey);
    await page.keyboard.press("Enter");
    await page.getByRole("row").first().waitFor();
    await page.getByLabel("Open a run by its ID").focus();
    await page.keyboard.type(task.id);
    await page.keyboard.press("Enter");
    await page.getByLabel("Your answer").waitFor();
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(`document.activeElement?.tagName === "TEXTAREA"`)) break;
    }
    await page.keyboard.type("eu-west");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("You said: eu-west").waitFor();
    await page.close();
  });
});

/** So that what is behind a button is looked at too. */
async function openWhatOpens(page: Page): Promise<void> {
  await page.getByText("Loading…").waitFor({ state: "hidden" });
  await page.evaluate(`document.querySelectorAll('.step__row[aria-expanded="false"], .artifact [aria-expanded="false"]')
    .forEach((button) => button.checkVisibility() && button.click())`);
}
