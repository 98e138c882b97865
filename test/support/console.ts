/** The console in a real browser, beside the server that it is of. What its pages complain of is kept for the tests. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { isThorough } from "../runner/seed.ts";
import { startBrowser, type TestBrowser } from "./browser.ts";
import { Client } from "./client.ts";
import { adminKey, type InProcessOptions, startServer, type TestServer } from "./server.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface ConsoleWorld extends AsyncDisposable {
  server: TestServer;
  browser: TestBrowser;
  client: Client;
  /** A page of a browser of its own: nobody is signed in there. */
  open(path?: string): Promise<ConsolePage>;
}

export interface ConsolePage {
  page: Page;
  /** What the browser complained of: violations of the policy, errors of scripts. */
  complaints: string[];
  /** Requests that went anywhere but to the server. */
  strays: string[];
}

export async function startConsole(options: InProcessOptions = {}): Promise<ConsoleWorld> {
  const server = await startServer(options);
  const browser = await startBrowser();
  return {
    server,
    browser,
    client: new Client(server),
    async open(path = "/") {
      const page = await browser.newPage();
      const complaints: string[] = [];
      const strays: string[] = [];
      page.on("console", (message) => {
        // Answers that say an error are shown by the page, which is for the tests to look at.
        const isAnswer = /^Failed to load resource/.test(message.text());
        if (["error", "warning"].includes(message.type()) && !isAnswer) complaints.push(message.text());
      });
      page.on("pageerror", (error) => void complaints.push(String(error)));
      page.on("request", (request) => {
        if (!/^(?:blob|data):/.test(request.url()) && !request.url().startsWith(server.url))
          strays.push(request.url());
      });
      await page.goto(server.url + path);
      return { page, complaints, strays };
    },
    async [Symbol.asyncDispose]() {
      await browser[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

export async function signIn(page: Page, key = adminKey): Promise<void> {
  await page.getByLabel("API key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: /^Account/ }).waitFor();
}

const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What axe finds on the page as it is. */
async function problemsOf(page: Page, rules: readonly string[] | "colours"): Promise<string[]> {
  // Not as a script element, which the policy of the page would refuse.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(`${axe}; void 0`);
  const runOnly = rules === "colours" ? { type: "rule", values: ["color-contrast"] } : rules;
  const found: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(runOnly)} })
      .then(({ violations }) => violations.map(({ id, help, nodes }) =>
        id + ": " + help + " " + nodes.slice(0, 3).map(({ html, any }) => html.slice(0, 200) + " " + (any[0]?.message ?? "")).join(" | ")))`,
  );
  assert.ok(Array.isArray(found));
  return found.map(String);
}

export const themes = ["light", "dark"] as const;
export const sizes = [
  { width: 360, height: 740 },
  { width: 1280, height: 800 },
] as const;

/**
 * On a page as it is, in both themes and both sizes: nobody is shut out, and nothing is wider than the window. The gate
 * looks at each theme in one size, and in the second theme at what depends on it: colours.
 */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  for (const [n, colorScheme] of themes.entries()) {
    for (const size of isThorough ? sizes : sizes.slice(n, n + 1)) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize(size);
      const where = `${name}, ${colorScheme}, ${size.width} px`;
      const rules = n === 0 || isThorough ? everyRule : "colours";
      assert.deepEqual(await problemsOf(page, rules), [], where);
      const width = await page.evaluate(
        `Math.max(...["html", "#content"].map((place) => document.querySelector(place)?.scrollWidth ?? 0))`,
      );
      assert.ok(Number(width) <= size.width, `${where}: ${width} px wide`);
    }
  }
}
