/** The tools for workspace files, on real files. */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { toolContext } from "../../../test/support/tool-samples.ts";
import { FileRefused } from "../../files/safe-path.ts";
import { WorkspaceFiles } from "../../files/workspace-files.ts";
import { runTool } from "../attempt.ts";
import { filesList, filesRead, filesWrite } from "./files.ts";
import { filesSearch } from "./files-search.ts";

/** A workspace with these files. */
async function workspace(contents: Record<string, string | Uint8Array>) {
  const directory = await mkdtemp(join(tmpdir(), "bridle-tools-"));
  const files = new WorkspaceFiles({ directory });
  const context = toolContext({ files });
  const { tenantId, id } = await context.place();
  const root = join(directory, tenantId, id);
  await mkdir(root, { recursive: true });
  for (const [path, content] of Object.entries(contents)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return {
    root,
    context,
    search: (input: object, given = context) => runTool(filesSearch, input, given),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

test("TOL-5 the file tools read, list and write through the agent's files", async () => {
  // Given an agent's files, when the tools read, list and write, then it is the agent's files that do it.
  const written: [string, string][] = [];
  const ctx = {
    files: {
      read: async (path: string) => `text of ${path}`,
      list: async (path?: string) => [{ name: `in ${path}`, kind: "file" as const, size: 1 }],
      async write(path: string, text: string) {
        written.push([path, text]);
        return { path, sha256: "", bytes: text.length };
      },
    },
  };
  assert.deepEqual(await filesRead.runWith(ctx, { path: "a" }), { text: "text of a" });
  const { entries } = await filesList.runWith(ctx, {});
  assert.deepEqual(entries, [{ name: "in ", kind: "file", size: 1 }]);
  assert.equal((await filesWrite.runWith(ctx, { path: "a", text: "abc" })).bytes, 3);
  assert.deepEqual(written, [["a", "abc"]]);
});

test("TOL-5 search returns matching lines and skips what is no text of the workspace", async () => {
  // Given files, when a text is sought, then the lines that hold it are given, and what is no text of the workspace is
  // passed over.
  await using space = await workspace({
    "a.txt": "one\ntwo Needle\nthree",
    "deep/er/b.md": "needle first\nneedle again\n",
    "binary.bin": Uint8Array.from([0xff, 0xfe, 0x6e]),
    "big.txt": "needle".repeat(400_000),
    ".git/config": "needle",
    "node_modules/x/index.js": "needle",
    "aux.txt": "needle",
  });
  const outside = join(space.root, "..", "outside.txt");
  await writeFile(outside, "needle");
  await symlink(outside, join(space.root, "link.txt"));
  await symlink(dirname(outside), join(space.root, "up"));
  assert.deepEqual(await space.search({ query: "needle" }), {
    matches: [
      { path: "deep/er/b.md", line: 1, text: "needle first" },
      { path: "deep/er/b.md", line: 2, text: "needle again" },
    ],
    files_searched: 2,
    truncated: false,
  });
  const { matches } = await space.search({ query: "NEEDLE", ignore_case: true });
  assert.deepEqual(
    matches.map(({ path, line }) => `${path}:${line}`),
    ["a.txt:2", "deep/er/b.md:1", "deep/er/b.md:2"],
  );
  const inOne = await space.search({ query: "e", path: "deep/er/b.md" });
  assert.deepEqual([inOne.files_searched, inOne.matches.length], [1, 2]);
  assert.equal((await space.search({ query: "needle", path: "node_modules" })).matches.length, 1);
});

test("TOL-5 search reports that it hit the limit of matches, line length or folders", async () => {
  // Given more matches, longer lines or more folders than one search gives, when it meets the bound, then it says so.
  const folders = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`d${n}/a.txt`, "x"]));
  await using space = await workspace({
    ...folders,
    "many/a.txt": "needle\n".repeat(200),
    "long/a.txt": `${"é".repeat(5000)}needle${"é".repeat(5000)}`,
  });
  const many = await space.search({ query: "needle", path: "many" });
  assert.deepEqual([many.matches.length, many.truncated], [100, true]);
  const [long] = (await space.search({ query: "needle", path: "long" })).matches;
  assert.ok(long !== undefined && long.text.length <= 202 && long.text.includes("needle"));
  assert.equal((await space.search({ query: "nothing" })).truncated, true);
});

test("TOL-5 given a path that leads outside, or is none, when it is searched, then it is refused", async () => {
  await using space = await workspace({});
  for (const path of ["../", "/etc", "a/../b", "none"])
    await assert.rejects(space.search({ query: "root", path }), FileRefused, path);
  await assert.rejects(space.search({ query: "" }), { code: "tool_input_invalid" });
});
