#!/usr/bin/env node
/** The `bridle` command of a clone. Plain JavaScript, so that an old Node.js can say that it is too old. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const nodeVersionMin = 24;

if (Number.parseInt(process.versions.node, 10) < nodeVersionMin) {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const hasOwn = existsSync(join(here, "node_modules/.bin/node"));
  const advice = hasOwn
    ? `"npm start" and "npm run bridle" in ${here} use the right one.`
    : `Install it, or run "npm ci" in ${here} without --omit=optional: it installs one for this folder.`;
  process.stderr.write(
    `bridle: Node.js ${nodeVersionMin} or later is required, this is ${process.versions.node}. ${advice}\n`,
  );
  process.exitCode = 1;
} else {
  const { freshMain } = await import("./build/fresh.ts");
  await import(await freshMain());
}
