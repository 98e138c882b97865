/** A real Chromium, from a package of the registry: nothing is installed on the machine and nothing downloaded. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type Page, chromium as playwright } from "playwright-core";

/** Why there is no browser here, or false where there is one. */
export const noBrowser: string | false =
  process.platform === "linux" && process.arch === "x64"
    ? false
    : "the package has Chromium for Linux on x64 only";

export interface TestBrowser extends AsyncDisposable {
  newPage(): Promise<Page>;
}

export async function startBrowser(): Promise<TestBrowser> {
  executable ??= unpack();
  const { path, args } = await executable;
  const browser: Browser = await playwright.launch({ executablePath: path, args, headless: true });
  return {
    newPage: () => browser.newPage(),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Once in a process: what is unpacked twice at the same time is started half written. */
let executable: Promise<{ path: string; args: string[] }> | undefined;

async function unpack(): Promise<{ path: string; args: string[] }> {
  // Anew, where nobody else looks: a place that all processes share could hold half of it.
  const place = mkdtempSync(join(tmpdir(), "bridle-chromium-"));
  process.once("exit", () => rmSync(place, { recursive: true, force: true }));
  const { TMPDIR } = process.env;
  process.env.TMPDIR = place;
  // The libraries that a bare machine lacks come along too, for those who say that they are such a machine.
  process.env.AWS_EXECUTION_ENV = "AWS_Lambda_nodejs22.x";
  const { default: chromium } = await import("@sparticuz/chromium");
  chromium.setGraphicsMode = false;
  const path = await chromium.executablePath();
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  return { path, args: chromium.args };
}
