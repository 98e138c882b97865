/** The error table and the pages that explain it say the same. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ErrorCode, errorTypes } from "../src/kernel/core/errors.ts";
import { httpStatus } from "../src/surfaces/harn/errors.ts";

const folder = fileURLToPath(new URL("../docs/errors", import.meta.url));
const readme = "README.md";
/** A page is read while something is broken: it fits on a screen. */
const pageLinesMax = 40;

// The compiler proves that the two tables have the same keys.
const errorCodes = (Object.keys(errorTypes) as ErrorCode[]).sort();
const pages = readdirSync(folder)
  .filter((file) => file !== readme)
  .sort();

function read(file: string): string {
  return readFileSync(join(folder, file), "utf8");
}

/** What the tables say of a code. */
const table = errorCodes.map((code) => ({ code, status: httpStatus[code], type: errorTypes[code] }));

test("ERR-5 each error code has a page and each page a code", () => {
  // Given the table of error codes, when it is compared with the folder of pages, then each code has a page and each
  // page a code.
  assert.ok(errorCodes.length > 0);
  assert.deepEqual(
    pages,
    errorCodes.map((code) => `${code}.md`),
  );
});

test("ERR-5 an error page begins with its code and states only its own status and type", () => {
  // Given the page of a code, when it is read, then it begins with the code and states its status and type, and no
  // other.
  for (const { code, ...facts } of table) {
    const page = read(`${code}.md`);
    assert.equal(page.split("\n")[0], `# ${code}`);
    const stated = [...page.matchAll(/^\*\*HTTP status\*\* (\d+), error type `(\w+)`$/gm)].map(
      ([, status, type]) => ({ status: Number(status), type }),
    );
    assert.deepEqual(stated, [facts]);
    for (const part of ["When it happens here", "What to do"])
      assert.ok(page.includes(`\n**${part}**\n`), `${code} says "${part}"`);
    assert.ok(page.split("\n").length <= pageLinesMax, `${code} fits on a screen`);
  }
});

test("ERR-5 the example on an error page is a well-formed error of its code and type", () => {
  // Given the example on a page, when it is parsed, then it is an error of this code and type in the protocol's shape.
  let examples = 0;
  for (const { code, type } of table) {
    const json = /\*\*Example\*\*\n\n```json\n(.*?)\n```/s.exec(read(`${code}.md`))?.[1];
    if (json === undefined) continue;
    examples += 1;
    const { error } = JSON.parse(json);
    assert.deepEqual(Object.keys(error), ["code", "message", "type", "param", "request_id", "details"]);
    assert.deepEqual([error.code, error.type], [code, type]);
  }
  assert.ok(examples > 0);
});

test("ERR-5 the list of error pages has each code once, with page, status and type", () => {
  // Given the list of pages, when its table is read, then it has each code once, with its page, status and type.
  const rows = [...read(readme).matchAll(/^\| \[(\w+)\]\((\w+)\.md\) *\| (\d+) *\| `(\w+)` *\|/gm)];
  for (const [, code, page] of rows) assert.equal(page, code);
  const listed = rows.map(([, code = "", , status, type]) => ({ code, status: Number(status), type }));
  assert.deepEqual(
    listed.toSorted((a, b) => (a.code < b.code ? -1 : 1)),
    table,
  );
});
