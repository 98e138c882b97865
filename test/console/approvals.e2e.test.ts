/** Approvals in real browsers: decided on the page of all, and signed with keys that never leave the browser. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { ApprovalStage } from "../support/approvals.ts";
import { noBrowser, startBrowser, type TestBrowser } from "../support/browser.ts";
import { type Json, until } from "../support/client.ts";
import { assertAccessible, signIn } from "../support/console.ts";
import { adminKey } from "../support/server.ts";

describe("approvals in the console", { skip: noBrowser }, () => {
  let stage: ApprovalStage;
  let browser: TestBrowser;
  before(async () => {
    [stage, browser] = await Promise.all([ApprovalStage.open(), startBrowser()]);
  });
  after(async () => {
    await browser[Symbol.asyncDispose]();
    await stage[Symbol.asyncDispose]();
  });

  async function open(key: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(`${stage.server.url}/approvals`);
    await signIn(page, key);
    return page;
  }

  /** Pairs the browser as somebody does: keys, a code from the operator, and a fingerprint that both see. */
  async function pair(page: Page): Promise<Json> {
    await page.getByRole("button", { name: "Create keys in this browser" }).click();
    const begun = (await stage.client.post("/v1/approvals/pairings", { workspace_name: "airlock" })).body;
    await page.getByLabel("Pairing code").fill(begun.code);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("airlock").waitFor();
    const shown = (await page.locator(".fingerprint").first().textContent())?.replaceAll(" ", "");
    await page.getByRole("button", { name: "Pair this browser" }).click();
    await page.getByText("This browser is paired.").waitFor();
    const path = `/v1/approvals/pairings/${begun.nonce}`;
    const pairing = await until(
      async () => (await stage.client.get(path)).body,
      ({ state }) => state === "completed",
    );
    assert.equal(pairing.fingerprint, shown);
    return (await (await stage.officer()).post(`${path}/confirm`, { fingerprint: shown })).body;
  }

  test("CON-10 a request is decided on the page of all approvals, with the keyboard", async () => {
    const persona = await stage.persona({});
    const page = await open(adminKey);
    await page.getByRole("heading", { name: "Nothing waits for approval" }).waitFor();
    const [first, second] = [await stage.task(persona, "one"), await stage.task(persona, "two")];
    await page.getByRole("button", { name: "Approve" }).nth(1).waitFor();
    await assertAccessible(page, "approvals that wait");
    for (const key of ["j", "k", "j", "j", "a", "Enter"]) await page.keyboard.press(key);
    await page.getByText(/^Approved by admin/).waitFor();
    for (const key of ["j", "d", "Enter"]) await page.keyboard.press(key);
    await page.getByText(/^Denied by admin/).waitFor();
    // The newest is on top: the walk ended at the older one.
    assert.deepEqual(
      [stage.deploysOf(await stage.ended(first)), stage.deploysOf(await stage.ended(second))],
      [1, 0],
    );
    await page.close();
  });

  test("CON-10, CON-11 two browsers pair, and sign what takes both of them", async () => {
    const persona = await stage.persona({ channel: "harp", quorum: 2 });
    const keyOf = async (id: string) =>
      (
        await stage.client.createKey({
          actor: id,
          scopes: [`harp:approver:${id}`, "tasks:read", "events:read"],
        })
      ).key;
    const [annKey, bobKey] = [await keyOf("ann"), await keyOf("bob")];
    const ann = await open(annKey);
    await assertAccessible(ann, "a browser that is not paired");
    assert.equal((await pair(ann)).state, "active");
    const bob = await open(bobKey);
    assert.equal((await pair(bob)).state, "pending");
    const admission = ann.locator(".signed .approval").filter({ hasText: "Let another key approve as bob" });
    await admission.getByRole("button", { name: "Approve and sign" }).click();
    await admission.getByText("Signed and sent: Approved").waitFor();
    await until(
      async () => (await stage.client.get("/v1/approvals/approvers")).body.data,
      (keys) => keys.filter(({ state }: Json) => state === "active").length === 2,
    );

    const task = await stage.task(persona, "build 7");
    for (const page of [ann, bob]) {
      const request = page.locator(".signed .approval").filter({ hasText: "build 7" });
      await request.getByText("Risk: high").waitFor();
      await request.getByRole("button", { name: "Approve and sign" }).click();
      await request.getByText("Signed and sent: Approved").waitFor();
      if (page === ann) await ann.getByText("1 of 2 approvers have approved").waitFor();
    }
    assert.equal((await stage.ended(task)).status, "COMPLETED");
    assert.equal(stage.deploysOf(task), 1);
    await assertAccessible(bob, "a browser that is paired");

    // The keys outlive a reload, and nobody can take them out.
    await bob.reload();
    await bob.getByText("This browser is paired.").waitFor();
    const kept: unknown = await bob.evaluate(`new Promise((done) => {
      indexedDB.open("bridle-approver").onsuccess = ({ target }) => {
        target.result.transaction("keys").objectStore("keys").getAll().onsuccess = ({ target: { result } }) => {
          const [{ keys }] = result;
          done([keys.ed25519.privateKey.extractable, keys.x25519.privateKey.extractable]);
        };
      };
    })`);
    assert.deepEqual(kept, [false, false]);
    await Promise.all([ann.close(), bob.close()]);
  });
});
