/** What the agent can do. `effect` and `risk` are what policy and approvals go by: see docs/guides/tools.md. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineTool, Type } from "bridle";

/** It only looks, so nobody is asked, and after a crash it just runs again. */
export const unreleased = defineTool({
  name: "unreleased",
  description: "Lists what was changed since the last release.",
  input: Type.Object({}),
  output: Type.Array(Type.String()),
  effect: "none",
  async run() {
    const text = await readFile(join(import.meta.dirname, "CHANGES.md"), "utf8");
    return text.split("\n").filter((line) => line.startsWith("- "));
  },
});

/** What is published is out. It is asked for first, and never tried twice. */
export const publish = defineTool({
  name: "publish",
  description: "Publishes a release with its notes.",
  input: Type.Object({
    version: Type.String({ pattern: "^v\\d+\\.\\d+\\.\\d+$" }),
    notes: Type.String(),
  }),
  output: Type.Object({ path: Type.String() }),
  effect: "irreversible",
  risk: "high",
  action: ({ version }) => `publish ${version}`,
  async run({ version, notes }) {
    // A folder stands in for wherever your releases go.
    const folder = process.env.RELEASES ?? "releases";
    const path = join(folder, `${version}.md`);
    await mkdir(folder, { recursive: true });
    await writeFile(path, notes, { flag: "wx" });
    return { path };
  },
});
