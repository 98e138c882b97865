#!/usr/bin/env node
/** `npm create bridle my-agents -- --template assistant` is `bridle init` of the version that it depends on. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("./main.js", import.meta.resolve("bridle")));
const { status } = spawnSync(process.execPath, [main, "init", ...process.argv.slice(2)], {
  stdio: "inherit",
});
process.exitCode = status ?? 1;
