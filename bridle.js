#!/usr/bin/env node
/** The `bridle` command of a clone. Plain JavaScript, so that an old Node.js can say that it is too old. */

import { fileURLToPath } from "node:url";

const nodeVersionMin = 24;

if (Number.parseInt(process.versions.node, 10) < nodeVersionMin) {
  const here = fileURLToPath(new URL(".", import.meta.url));
  process.stderr.write(
    `bridle: Node.js ${nodeVersionMin} or later is required, this is ${process.versions.node}. "npm start" and "npm run bridle" in ${here} use the right one.\n`,
  );
  process.exitCode = 1;
} else {
  const { freshBundle } = await import("./build/fresh.ts");
  await import(`${await freshBundle()}/main.js`);
}
