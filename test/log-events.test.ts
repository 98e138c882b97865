/** Operators search and alert on `event`: no line of the log is without one. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const logged = /\b(?:logger|log)\b\??\.(?:debug|info|warn|error)\(\s*([^\s,][\s\S]{0,400}?)[,)]\s/g;

test("MET-14 every log line has an event key of the form area.what", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /^(?:server|runtime|surfaces|telemetry|mcp-client|harp|cli\/serving)\/.*(?<!\.test)\.ts$/.test(file),
  );
  let lines = 0;
  const without = files.flatMap((file) => {
    const text = readFileSync(source + file, "utf8");
    return [...text.matchAll(logged)].flatMap(([call, first = ""]) => {
      lines += 1;
      // What is said in several ways is put together in a variable: its `event` stands where that is made.
      const isNamed = /^\w+$/.test(first) && /\bevent: "|\bevent,/.test(text);
      return isNamed || /\{ event: "[a-z_]+\.[a-z_]+"|\{ event,/.test(call)
        ? []
        : [`${file}: ${call.trim()}`];
    });
  });
  assert.ok(lines > 30, `${lines} lines were found`);
  assert.deepEqual(without, []);
});
