/** A real Chromium, from a package of the registry: nothing is installed on the machine and nothing downloaded. */

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Browser, type Page, chromium as playwright } from "playwright-core";

/** Why there is no browser here, or false where there is one. */
export const noBrowser: string | false =
  process.platform === "linux" && process.arch === "x64"
    ? false
    : "the package has Chromium for Linux on x64 only";

/** As users' browsers are: what one page may do to another is checked, and a page that crashes is not the browser. */
const unwanted = [
  ...["--disable-web-security", "--allow-running-insecure-content"],
  ...["--single-process", "--no-zygote"],
];

export interface TestBrowser extends AsyncDisposable {
  newPage(): Promise<Page>;
}

export async function startBrowser(): Promise<TestBrowser> {
  unpacked ??= unpack();
  const { path, args, env } = await unpacked;
  const browser: Browser = await playwright.launch({ executablePath: path, args, env, headless: true });
  return {
    newPage: () => browser.newPage(),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

interface Unpacked {
  path: string;
  args: string[];
  env: Record<string, string>;
}

let unpacked: Promise<Unpacked> | undefined;

const unpacking = `
  const { default: chromium } = await import(${JSON.stringify(import.meta.resolve("@sparticuz/chromium"))});
  chromium.setGraphicsMode = false;
  const path = await chromium.executablePath();
  console.log(JSON.stringify({ path, args: chromium.args, env: process.env }));
`;

/** Where nobody else looks, by a process of its own that takes it for the place of temporary files: a shared one could hold half of it. */
async function unpack(): Promise<Unpacked> {
  const place = mkdtempSync(join(tmpdir(), "bridle-chromium-"));
  process.once("exit", () => rmSync(place, { recursive: true, force: true }));
  // The libraries that a bare machine lacks come along too, for those who say that they are such a machine.
  const env = { ...process.env, TMPDIR: place, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs22.x" };
  const flags = ["--input-type=module", "--eval", unpacking];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env });
  const found: Unpacked = JSON.parse(stdout);
  const FONTCONFIG_PATH = fontsIn(join(place, "fonts"));
  return {
    ...found,
    args: found.args.filter((arg) => !unwanted.includes(arg)),
    env: { ...found.env, FONTCONFIG_PATH },
  };
}

/** Where the fonts are described. Those that come along are not where their description says: without any, Chromium ends. */
function fontsIn(place: string): string {
  const ofMachine = "/etc/fonts";
  if (existsSync(join(ofMachine, "fonts.conf"))) return ofMachine;
  const file = join(place, "fonts.conf");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(/<dir>[^<]*<\/dir>/g, `<dir>${place}</dir>`));
  return place;
}
