/** What is here runs in a browser as it is. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("the code of this folder imports and names nothing that browsers lack", () => {
  // Given the code of this folder, when its imports and names are read, then it needs nothing that browsers lack.
  const folder = new URL(".", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  assert.ok(files.length > 15);
  for (const file of files) {
    const text = readFileSync(new URL(file, folder), "utf8");
    const imported = [...text.matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)/g)].map(
      ([, from, lazy]) => from ?? lazy,
    );
    assert.deepEqual(
      imported.filter((target) => !/^\.(?:\/|\.\/\.\.\/web\/)[a-z0-9-]+\.ts$/.test(target ?? "")),
      [],
      file,
    );
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    assert.doesNotMatch(code, /\b(?:Buffer|process|require|setImmediate|NodeJS)\b/, file);
  }
});
