#!/usr/bin/env node
/**
 * The `bridle` command. What was compiled is kept beside the dependencies, which takes a third off every start but the first.
 * This file alone must be understood by a Node.js that is too old for the rest.
 */

import * as modules from "node:module";
import { fileURLToPath } from "node:url";
import { packageRoot } from "../package-files.ts";

const nodeVersionMin = 24;

if (Number.parseInt(process.versions.node, 10) < nodeVersionMin) {
  process.stderr.write(
    `bridle: this is Node.js ${process.versions.node}, and it takes ${nodeVersionMin} or later. In a project, \`npm install --save-dev node\` brings one along.\n`,
  );
  process.exitCode = 1;
} else {
  modules.enableCompileCache(fileURLToPath(new URL("node_modules/.cache/bridle", packageRoot)));
  const [{ runProgram }, { endWithReader }] = await Promise.all([
    import("./program.ts"),
    import("./terminal/output.ts"),
  ]);
  endWithReader();
  await runProgram();
}
