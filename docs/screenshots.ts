/**
 * Takes the pictures of the console in `docs/screenshots/`: every page, in both themes, with work that looks like somebody's. Run it
 * after a change of the console, and look at what it made: `npm run docs:screenshots`. With a folder named, all sizes in both themes are
 * there as PNG as well.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import { defineAgent, Type } from "../src/index.ts";
import { type Client, type Json, userMessage } from "../test/support/client.ts";
import { signIn, startConsole } from "../test/support/console.ts";

const folder = join(import.meta.dirname, "screenshots");
/** Sharp enough to read, and small enough for a page of documentation. */
const quality = 82;
const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 360, height: 740 } } as const;

const refunder = defineAgent({
  name: "refunder",
  version: "2.1.0",
  description: "Pays orders back, once a person has agreed.",
  input: Type.Object({
    order: Type.String({ title: "Order", description: "As on the invoice, for example A-1093" }),
  }),
  async run(ctx) {
    const order = await ctx.step("look up the order", async () => {
      await pause(180);
      return { order: ctx.input.order, customer: "Lovelace Ltd", cents: 4900, paid_at: "2026-11-02" };
    });
    await ctx.step("check the policy", async () => {
      await pause(90);
      return { days_since_payment: 17, within_policy: true };
    });
    const payload = { ...order, to: "DE89 3704 0044 0532 0130 00", reason: "Delivered twice" };
    await ctx.approve({ action: `Pay back 49.00 EUR for order ${ctx.input.order}`, payload, risk: "high" });
    return `Order ${ctx.input.order} is paid back.`;
  },
});

const report = defineAgent({
  name: "nightly-report",
  version: "1.4.0",
  description: "Writes the report of the night.",
  async run(ctx) {
    const rows = await ctx.step("collect", async () => {
      await pause(120);
      return [
        ["region", "orders", "failed"],
        ["eu-west", "1204", "3"],
        ["us-east", "2210", "11"],
      ];
    });
    await ctx.artifact({
      name: "orders.csv",
      mimeType: "text/csv",
      text: rows.map((row) => row.join(",")).join("\n"),
    });
    await ctx.say(
      "Orders are up **4 %** since yesterday.\n\n- eu-west: 1,204, three failed\n- us-east: 2,210, eleven failed",
    );
    return "The report is written.";
  },
});

const triage = defineAgent({
  name: "triage",
  version: "0.9.2",
  description: "Sorts what customers write.",
  async run(ctx) {
    await ctx.step("read the ticket", () => ({ ticket: 5121, language: "en" }));
    const team = await ctx.ask(
      "Who should look at this ticket?",
      Type.Object({
        team: Type.Enum(["billing", "delivery", "product"], { title: "Team" }),
        note: Type.Optional(Type.String({ title: "Note", maxLength: 100 })),
      }),
    );
    return `Given to ${team.team}.`;
  },
});

const migrate = defineAgent({
  name: "migrate",
  version: "1.0.0",
  description: "Moves a table.",
  async run(ctx) {
    await ctx.step("copy rows", () => 48_000);
    throw new Error("Column customers.vat_id does not exist. Run migration 0042 first.");
  },
});

async function give(client: Client, persona: string, input: object): Promise<Json> {
  const session = await client.createSession();
  const body = { session_id: session.id, persona_id: `persona_${persona}`, input };
  return (await client.post("/v1/tasks", body, { prefer: "wait=5" })).body;
}

await using world = await startConsole({
  config: { agents: [refunder, report, triage, migrate], metrics: "auth" },
});
const { client, server } = world;
mkdirSync(folder, { recursive: true });
for (const day of ["Monday", "Tuesday", "Wednesday", "Thursday"]) {
  await give(client, "nightly-report", userMessage(`Write the report of ${day}`));
}
await give(client, "migrate", userMessage("Move the customers to the new table"));
await give(client, "triage", userMessage("Ticket 5121: my invoice has the wrong address"));
const tour = await give(client, "tour", userMessage("Make the release of November"));
const refund = await give(client, "refunder", { order: "A-1093" });
const finished = await give(client, "nightly-report", userMessage("Write the report of last night"));

const { page } = await world.open("/runs");
await picture(page, "sign-in");
await signIn(page);
await page.getByRole("row").nth(5).waitFor();
await picture(page, "runs");
for (const [name, task, tab] of [
  ["run-approval", refund, "Conversation"],
  ["run-timeline", tour, "Timeline"],
  ["run-artifacts", finished, "Artifacts"],
  ["run-events", tour, "Events"],
  ["run-receipt", finished, "Receipt"],
] as const) {
  await page.goto(`${server.url}/runs/${task.id}`);
  await page.getByRole("tab", { name: tab }).click();
  if (tab === "Artifacts") await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("Loading…").waitFor({ state: "hidden" });
  await picture(page, name);
}

await page.goto(`${server.url}/runs/${finished.id}/replay`);
await page.getByRole("button", { name: "Change step:collect:1" }).click();
await page
  .getByLabel(/^What step:collect:1/)
  .fill('[["region", "orders", "failed"], ["eu-west", "0", "1204"]]');
await picture(page, "replay");
await page.getByRole("button", { name: "Replay with 1 change" }).click();
await page.getByText("First difference", { exact: true }).waitFor();
await page.getByRole("cell", { name: /USD/ }).nth(1).waitFor();
await picture(page, "comparison");

await page.goto(`${server.url}/talk?agent=refunder`);
await page.getByLabel("Order").waitFor();
await picture(page, "talk");
await page.goto(`${server.url}/talk/${finished.session_id}`);
await page.locator(".markdown li").first().waitFor();
await picture(page, "conversation");
await client.createKey({
  name: "Ann's laptop",
  actor: "ann",
  scopes: ["tasks:read", "events:read", "approvals:write"],
});
await client.createKey({ name: "Nightly reports", actor: "ci", scopes: ["tasks:write", "sessions:write"] });
await page.goto(`${server.url}/keys`);
await page.getByText("Nightly reports").waitFor();
await picture(page, "keys");
await client.post("/v1/quotas", { scope: "tenant", limits: { usd: 25, tool_calls: 500, tasks: 12 } });
await page.goto(`${server.url}/operate/overview`);
await page.getByText("Ready", { exact: true }).waitFor();
// Two lines in a chart need three looks.
await page.waitForResponse(/metrics/);
await page.waitForResponse(/metrics/);
await page.waitForResponse(/metrics/);
await picture(page, "operate-overview");
await page.goto(`${server.url}/operate/personas/persona_refunder`);
await page.getByLabel("autonomy tier").waitFor();
await picture(page, "operate-persona");
await page.goto(`${server.url}/operate/quotas`);
await page.getByText(/of 500/).waitFor();
await picture(page, "operate-quotas");
await page.goto(`${server.url}/operate/audit`);
await page.getByRole("button", { name: /quota.create/ }).waitFor();
await picture(page, "operate-audit");
await page.goto(`${server.url}/receipts`);
const receipt = await client.get(
  `/v1/receipts/${(await client.get(`/v1/tasks/${finished.id}`)).body.receipt_id}`,
);
await page.getByLabel("Or paste it").fill(JSON.stringify(receipt.body));
await page.getByRole("button", { name: "Verify" }).click();
await page.getByText("The receipt is valid.").waitFor();
await picture(page, "receipts");
await page.goto(`${server.url}/receipts/chain`);
await page.locator(".chain__block").nth(2).click();
await page.getByText(/^Proved/).waitFor();
await picture(page, "chain");
await page.goto(`${server.url}/approvals`);
await page.getByRole("button", { name: "Approve" }).first().waitFor();
await picture(page, "approvals");

async function picture(of: Page, name: string): Promise<void> {
  const devtools = await of.context().newCDPSession(of);
  await of.evaluate("document.activeElement?.blur()");
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [size, viewport] of Object.entries(sizes)) {
      await of.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await of.setViewportSize(viewport);
      // Two frames: one that lays out, one that paints.
      await of.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      const [toLookAt] = process.argv.slice(2);
      if (toLookAt !== undefined)
        await of.screenshot({ path: join(toLookAt, `${name}-${colorScheme}-${size}.png`) });
      if (size === "narrow" && colorScheme === "dark") continue;
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality });
      writeFileSync(join(folder, `${name}-${colorScheme}-${size}.webp`), Buffer.from(data, "base64"));
    }
  }
}
