/** What the generated types were made of: `npm run proto` notes it, and a test compares, so that nobody edits one without the other. */

import { hash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const noted = join(root, "proto/generated/stamp.json");
const inputs = [
  "buf.yaml",
  "buf.gen.yaml",
  "proto/tools/package-lock.json",
  "proto/{a2a,google,grpc,lf}/**/*.proto",
];
const outputs = "proto/generated/**/*.{js,ts}";

/** The SHA-256 of every input and output, by path. */
export function protoStamp(): Record<string, string> {
  const files = globSync([...inputs, outputs], { cwd: root }).sort();
  return Object.fromEntries(
    files.map((file) => [file, hash("sha256", readFileSync(join(root, file)), "hex")]),
  );
}

export function notedStamp(): unknown {
  return JSON.parse(readFileSync(noted, "utf8"));
}

if (import.meta.main) writeFileSync(noted, `${JSON.stringify(protoStamp(), null, 2)}\n`);
