/** The console in a real browser: one browser and one server for all of it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { defineAgent } from "../../src/index.ts";
import { isThorough } from "../runner/seed.ts";
import { noBrowser } from "../support/browser.ts";
import { Client, type Json } from "../support/client.ts";
import { type ConsolePage, type ConsoleWorld, signIn, startConsole } from "../support/console.ts";
import { addTasks } from "../support/long-log.ts";
import { adminKey, startServer, temporaryDirectory } from "../support/server.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

const kilobyte = 1000;
const manyTasks = isThorough ? 100_000 : 3000;

/** Has another agent do a part of it. */
const parent = defineAgent({
  name: "parent",
  version: "1.0.0",
  async run(ctx) {
    const child = await ctx.spawn({
      personaId: "persona_rehearsal",
      input: "step in the child\nreturn done",
    });
    return (await child.result()).summary;
  },
});

describe("the console", { skip: noBrowser }, () => {
  let world: ConsoleWorld;
  const crashes: number[] = [];
  before(async () => {
    world = await startConsole({
      config: {
        metrics: "auth",
        crash: () => crashes.push(Date.now()),
        agents: [parent],
        allowPrivateAddresses: true,
      },
    });
  });
  after(() => world[Symbol.asyncDispose]());

  /** Somebody who is signed in, on a page. */
  async function openAs(path: string, key = adminKey): Promise<ConsolePage> {
    const opened = await world.open(path);
    await signIn(opened.page, key);
    return opened;
  }

  async function rehearse(...lines: string[]): Promise<Json> {
    const session = await world.client.createSession();
    return await world.client.rehearse(session.id, ...lines);
  }

  function assertQuiet({ complaints, strays }: ConsolePage): void {
    assert.deepEqual({ complaints, strays }, { complaints: [], strays: [] });
  }

  test("CON-1, CON-2 the first page is small, and the key is in neither storage nor address", async () => {
    const opened = await world.open("/");
    const { page } = opened;
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    const scripts: unknown = await page.evaluate(
      `performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".js"))`,
    );
    assert.ok(Array.isArray(scripts) && scripts.length > 2);
    await signIn(page);
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    const all: unknown = await page.evaluate(
      `performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".js"))`,
    );
    assert.ok(Array.isArray(all) && all.length > scripts.length, "pages are loaded when they are opened");
    let bytes = 0;
    for (const script of all) bytes += gzipSync(await (await fetch(String(script))).bytes()).length;
    assert.ok(bytes < 200 * kilobyte, `${bytes} bytes of script`);
    const kept = await page.evaluate(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])",
    );
    assert.ok(!String(kept).includes(adminKey));
    assertQuiet(opened);
    await page.close();
  });

  test("CON-2, CON-3 a wrong key is refused, and signing out leads back to where one signs in", async () => {
    const opened = await world.open("/runs?status=FAILED");
    const { page } = opened;
    await page.getByLabel("API key", { exact: true }).fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/wrong, expired or revoked/)
      .waitFor();
    await page
      .getByRole("alert")
      .getByText(/^Request req_/)
      .waitFor();
    await signIn(page);
    await page.waitForURL(/\/runs\?status=FAILED$/);
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByText("Everything in the tenant").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto(`${world.server.url}/runs`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assertQuiet(opened);
    await page.close();
  });

  test("CON-4 a key that may only read is offered nothing else", async () => {
    const { key } = await world.client.createKey({ scopes: ["tasks:read", "events:read"], actor: "reader" });
    const task = await rehearse("ask Where to?");
    const opened = await openAs(`/runs/${task.id}`, key);
    const { page } = opened;
    await page.getByText("Your key lacks the scope messages:write").waitFor();
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Send" }).count(), 0);
    await page.getByRole("link", { name: "All runs" }).click();
    await page
      .getByRole("link", { name: /ask Where to/ })
      .first()
      .waitFor();
    assert.equal(await page.getByRole("checkbox").count(), 0);
    assertQuiet(opened);
    await page.close();
  });

  test("CON-5 the list shows runs as they come and go, filters by its address, and cancels several", async () => {
    const marker = `list-${Date.now()}`;
    await rehearse(`say ${marker}-before`, "return done");
    const opened = await openAs("/runs");
    const { page } = opened;
    await page.getByRole("link", { name: `${marker}-before` }).waitFor();
    const [first, second] = [await rehearse(`ask ${marker}-one?`), await rehearse(`ask ${marker}-two?`)];
    await page.getByRole("link", { name: `${marker}-two` }).waitFor();
    const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: `${marker}-one` }) });
    await row.getByText("Asks").waitFor();
    await world.client.answer(first.id, "yes");
    await row.getByText("Completed").waitFor();

    await page.getByLabel("Status").selectOption("Asks");
    await page.waitForURL(/status=INPUT_REQUIRED/);
    await page.getByRole("link", { name: `${marker}-two` }).waitFor();
    assert.equal(await page.getByRole("link", { name: `${marker}-one` }).count(), 0);
    await page.getByLabel("Session").fill(second.session_id);
    await page.getByLabel("Session").press("Enter");
    await page.waitForURL(/session=session_/);
    await page.getByText("1 run", { exact: true }).waitFor();
    await page.getByRole("checkbox").check();
    await page.getByRole("button", { name: "Cancel 1 run…" }).click();
    await page.getByRole("dialog").getByRole("heading", { name: "Cancel 1 run?" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel 1 run" }).click();
    await page.getByText("No run matches these filters").waitFor();
    assert.equal((await world.client.get(`/v1/tasks/${second.id}`)).body.status, "CANCELED");
    assertQuiet(opened);
    await page.close();
  });

  test("CON-5 a list of many thousands is scrolled in bounded memory, with only what is seen in the page", async () => {
    await using place = await temporaryDirectory();
    const before = await startServer({ data: place.path });
    const seed = new Client(before);
    await seed.rehearse((await seed.createSession()).id, "return done");
    await before.stop();
    await before[Symbol.asyncDispose]();
    await addTasks(place.path, manyTasks);
    await using server = await startServer({ data: place.path });
    const page = await world.browser.newPage();
    await page.goto(`${server.url}/runs`);
    await signIn(page);
    await page.getByRole("row").nth(5).waitFor();
    const shown = page.getByText(/^[\d,]+ runs( loaded, more below)?$/);
    const loaded = async () => Number(((await shown.textContent()) ?? "").replaceAll(/\D/g, ""));
    // As somebody does who looks for something; how fast that goes is the machine's.
    const toEnd = `{ const list = document.querySelector(".runs"); list.scrollTop = list.scrollHeight; }`;
    while ((await loaded().catch(() => 0)) < manyTasks) await page.evaluate(toEnd);
    const rows = await page.getByRole("row").count();
    assert.ok(rows < 60, `${rows} rows`);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("HeapProfiler.collectGarbage");
    const { usedSize } = await devtools.send("Runtime.getHeapUsage");
    assert.ok(usedSize < 30_000_000 + manyTasks * 1000, `${usedSize} bytes for ${manyTasks} runs`);
    await page.close();
  });

  test("CON-6, CON-16 a run is watched, answered, approved, proved, and replayed with another answer", async () => {
    const session = await world.client.createSession();
    const task = await world.client.submit(session.id, "Release it", { persona_id: "persona_tour" });
    const opened = await openAs(`/runs/${task.id}`);
    const { page } = opened;
    await page.getByText(/The task asked "What shall this release be called\?"/).waitFor();
    await page.getByLabel("name").fill("Ada");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("publish Ada", { exact: true }).waitFor();
    await page.getByText("Risk: high", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText(/^Approved by admin/).waitFor();
    await page.getByText("How it ended").waitFor();

    await page.getByRole("tab", { name: /Timeline/ }).click();
    await page
      .getByRole("button", { name: /llm draft/ })
      .last()
      .click();
    await page.getByText("tour/guide").first().waitFor();
    await page.getByRole("tab", { name: /Artifacts/ }).click();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("Orders above 500 wait for a person").first().waitFor();
    await page.getByRole("tab", { name: /Events/ }).click();
    await page.getByLabel("Filter events").fill("task.completed");
    await page.getByRole("button", { name: /task\.completed/ }).click();
    await page
      .getByText(/"?Ada is published/)
      .first()
      .waitFor();
    await page.getByRole("tab", { name: "Receipt" }).click();
    await page.getByText("Valid", { exact: true }).waitFor();
    assert.equal(await page.locator(".check--failed").count(), 0);

    await page.getByRole("link", { name: "Replay" }).click();
    await page.getByRole("button", { name: "Change ask:1" }).click();
    const answer = page.getByLabel("What ask:1 gives instead, as JSON");
    await answer.fill('{"name":');
    await page.getByText(/This is not JSON/).waitFor();
    assert.ok(await page.getByRole("button", { name: "Replay with 1 change" }).isDisabled());
    await answer.fill('{"name": 7}');
    await page.getByRole("button", { name: "Replay with 1 change" }).click();
    await page.getByRole("listitem").filter({ hasText: "ask:1" }).getByRole("alert").waitFor();
    await answer.fill('{"name": "Grace"}');
    await page.getByRole("button", { name: "Replay with 1 change" }).click();
    await page.waitForURL(
      (url) => url.pathname.startsWith("/runs/task_") && url.search === "?tab=comparison",
    );
    const first = page.getByRole("listitem").filter({ hasText: "First difference" });
    await first.getByText("Grace").waitFor();
    await first.getByText("Ada").waitFor();
    await page.getByText("Grace is published").first().waitFor();
    await page.getByRole("cell", { name: /USD/ }).first().waitFor();
    assertQuiet(opened);
    await page.close();
  });

  test("CON-6 a run shows the steps of its children in its timeline, and its webhooks", async () => {
    const session = await world.client.createSession();
    const task = await world.client.submit(session.id, "go", { persona_id: "persona_parent" });
    const opened = await openAs(`/runs/${task.id}?tab=timeline`);
    const { page } = opened;
    await page.getByRole("button", { name: /^spawn/ }).click();
    const child = page.getByRole("list", { name: /^Child run task_/ });
    await child.getByRole("button", { name: /in the child/ }).waitFor();

    const asking = await rehearse("ask Still there?");
    const hook = { taskId: asking.id, url: "http://127.0.0.1:9/hook" };
    const rpc = { jsonrpc: "2.0", id: 1, method: "CreateTaskPushNotificationConfig", params: hook };
    const made = await world.client.post("/a2a/rpc", rpc, { "A2A-Version": "1.0" });
    assert.equal(made.body.error, undefined, JSON.stringify(made.body));
    await page.goto(`${world.server.url}/runs/${asking.id}`);
    await page.getByRole("region", { name: "Webhooks" }).getByText(hook.url).waitFor();
    await page.getByText(/^Active · 0 notifications delivered/).waitFor();
    assertQuiet(opened);
    await page.close();
  });

  test("CON-6, CON-18 a run is denied with a reason, canceled, forked, and copied without a key", async () => {
    const denied = await rehearse("approve delete everything");
    const opened = await openAs(`/runs/${denied.id}`);
    const { page } = opened;
    await page.getByLabel("Reason (optional)").fill("not today");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText(/^Denied by admin/).waitFor();
    await page.getByText("not today").first().waitFor();

    const asking = await rehearse("ask Still there?");
    await page.goto(`${world.server.url}/runs/${asking.id}`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    for (const [item, has] of [
      ["Copy as curl", "persona_rehearsal"],
      ["Copy as client code", "bridle/client"],
      ["Copy as test fixture", "bridle/testing"],
    ] as const) {
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: item }).click();
      await page.getByText("Copied").waitFor();
      const copied = String(await page.evaluate("navigator.clipboard.readText()"));
      assert.ok(copied.includes(has) && !copied.includes(adminKey), copied);
    }
    await page.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Crash the server…" }).click();
    assert.deepEqual(crashes, []);
    await page.getByRole("button", { name: "Crash it" }).click();
    await page.getByText("The server is gone").waitFor();
    assert.equal(crashes.length, 1);
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByLabel("Reason (optional)").fill("no longer needed");
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await page.getByText("no longer needed").waitFor();
    await page.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Fork the session" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
    await page.waitForURL(/\/runs\?session=session_/);
    assert.ok(!page.url().includes(asking.session_id));
    assertQuiet(opened);
    await page.close();
  });

  test("CON-17 an operator sees how the server is, and changes a persona, a schedule and a quota", async () => {
    const { body: persona } = await world.client.post("/v1/personas", {
      ...{ name: "night shift", version: "1", entry_workflow: "rehearsal", description: "Works at night." },
      ...{ autonomy_tier: "act_auto", receipt_policy: "required", tools: ["mail"] },
    });
    const opened = await openAs("/operate");
    const { page } = opened;
    await page.getByText("Ready", { exact: true }).waitFor();
    await page
      .getByRole("cell", { name: /^POST \/console/ })
      .first()
      .waitFor();
    await page.getByRole("link", { name: "Personas" }).click();
    await page.getByRole("link", { name: "night shift" }).click();
    await page.getByLabel("autonomy tier").selectOption("act_with_approval");
    await page.getByLabel("tools").fill("");
    await page.getByRole("button", { name: "Review the changes" }).click();
    const review = page.getByRole("dialog");
    await review.getByRole("heading", { name: "Save 2 changes?" }).waitFor();
    await review.getByText("[]", { exact: true }).waitFor();
    await review.getByRole("button", { name: "Save" }).click();
    await review.waitFor({ state: "detached" });
    const { body: saved } = await world.client.get(`/v1/personas/${persona.id}`);
    assert.deepEqual(
      [saved.autonomy_tier, saved.tools, saved.description],
      ["act_with_approval", [], "Works at night."],
    );

    await page.getByRole("link", { name: "Schedules" }).click();
    await page.getByRole("button", { name: "Create a schedule" }).click();
    await page.getByLabel("Persona", { exact: true }).selectOption("night shift");
    await page.getByLabel("When, as a cron expression").fill("99 * * * *");
    await page.getByRole("dialog").getByText(/99/).waitFor();
    await page.getByLabel("When, as a cron expression").fill("0 3 1 1 *");
    await page.getByLabel("What the agent is given").fill("return counted");
    await page.getByRole("dialog").getByRole("button", { name: "Create a schedule" }).click();
    await page.getByText("return counted").waitFor();
    await page.getByRole("button", { name: "Pause 0 3 1 1 * night shift" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    const [schedule] = (await world.client.get(`/v1/personas/${persona.id}`)).body.schedules;
    assert.deepEqual([schedule.cron, schedule.paused], ["0 3 1 1 *", true]);

    await page.getByRole("link", { name: "Quotas" }).click();
    await page.getByRole("button", { name: "Create a quota" }).click();
    await page.getByLabel("scope").selectOption("tenant");
    await page.getByLabel("tool calls").fill("5000");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("0 of 5,000").waitFor();

    await page.getByRole("link", { name: "Audit log" }).click();
    await page.getByLabel("Action").fill("persona.update");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/action=persona.update/);
    await page
      .getByRole("button", { name: new RegExp(persona.id) })
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Check the chain" }).click();
    await page.getByText(/The chain of \d+ records is whole/).waitFor();
    assertQuiet(opened);
    await page.close();

    const { key } = await world.client.createKey({ scopes: ["tasks:read"], actor: "reader" });
    const reader = await openAs("/operate/personas", key);
    await reader.page.getByRole("heading", { name: "There is no such page" }).waitFor();
    await reader.page.close();
  });

  test("CON-8 hostile output is shown as text, runs nothing and loads nothing", async () => {
    const hostile = [
      "say <img src=x onerror=alert(1)><script>alert(2)</script><iframe src=javascript:alert(3)></iframe>",
      "say [click](javascript:alert(4)) ![track](https://evil.example/pixel.png) <svg/onload=alert(5)>",
      "say \u001b[31mred\u001b]0;title\u0007 and \u202egnp.exe\u202c",
      `say ${"A very long line. ".repeat(20_000)}`,
      "artifact page.html <script>alert(6)</script>",
      "return <b>done</b>",
    ];
    const task = await rehearse(...hostile);
    const opened = await openAs(`/runs/${task.id}`);
    const { page } = opened;
    let alerts = 0;
    page.on("dialog", (dialog) => {
      alerts += 1;
      void dialog.dismiss();
    });
    await page.getByText("<script>alert(2)</script>").first().waitFor();
    await page.getByText("␛[31mred␛]0;title␇ and \\u202egnp.exe").first().waitFor();
    await page
      .getByRole("button", { name: /^Show all 200,000/ })
      .first()
      .waitFor();
    const active = await page
      .locator("#content")
      .locator("img, script, iframe, object, embed, svg:not(.icon)")
      .count();
    assert.equal(active, 0);
    assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
    await page.getByRole("tab", { name: /Artifacts/ }).click();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("<script>alert(6)</script>").waitFor();
    await page.getByRole("tab", { name: /Events/ }).click();
    await page
      .getByRole("button", { name: /agent\.message/ })
      .first()
      .click();
    await page.goto(`${world.server.url}/runs`);
    await page
      .getByRole("link", { name: /<img src=x/ })
      .first()
      .waitFor();
    assert.equal(alerts, 0);
    assertQuiet(opened);
    await page.close();
  });

  test("CON-7, CON-3, CON-20 a page goes on after a break and a restart, and opens without a connection", async () => {
    await using place = await temporaryDirectory();
    let server = await startServer({ data: place.path });
    await using proxy = await startTcpProxy(server.url);
    const admin = new Client(server);
    const session = await admin.createSession();
    const task = await admin.rehearse(
      session.id,
      "say before",
      "ask Go on?",
      "stream 200",
      "say after",
      "return done",
    );
    const page = await world.browser.newPage();
    await page.goto(`${proxy.url}/runs/${task.id}`);
    await signIn(page);
    await page.getByLabel("Your answer").waitFor();
    const other = await world.browser.newPage();
    await other.goto(`${proxy.url}/approvals`);
    await signIn(other);
    await other.evaluate("navigator.serviceWorker.ready.then(() => true)");
    await other.reload();
    await other.getByText("Nothing waits for approval").waitFor();
    const kept = await other.evaluate(
      `caches.open("bridle-console-1").then((cache) => cache.keys()).then((all) => all.map(({ url }) => new URL(url).pathname))`,
    );
    assert.ok(Array.isArray(kept) && kept.length > 2);
    assert.deepEqual(
      kept.filter((path) => !/^\/runs$|^\/console\/assets\//.test(path)),
      [],
    );
    await server.stop();
    await page.getByText(/No connection to the server since/).waitFor();
    await other.reload();
    await other.getByRole("link", { name: "Approvals" }).waitFor();
    await other.close();
    server = await startServer({ data: place.path });
    proxy.leadTo(server.url);
    await new Client(server).answer(task.id, "yes");
    await page.getByText("How it ended").waitFor();
    await page.getByText(/No connection to the server since/).waitFor({ state: "detached" });
    for (const said of ["before", "after"])
      assert.equal(await page.getByText(said, { exact: true }).count(), 1, said);
    const ids = await eventIdsOf(new Client(server), task.id);
    await page.getByRole("tab", { name: `Events ${ids.length}` }).waitFor();
    await page.close();
    await server[Symbol.asyncDispose]();
  });
});

async function eventIdsOf(client: Client, taskId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await client.get(
      `/v1/tasks/${taskId}/events?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    ids.push(...body.data.map(({ id }: Json) => id));
    cursor = body.page.next_cursor;
  }
  return ids;
}
