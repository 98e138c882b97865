/**
 * Runs the project on a server of its own, plays the person who approves, and exits with 1 when something is wrong.
 *
 *   node examples/release-assistant/check.ts
 */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scripted } from "bridle/testing";
import { startProject } from "../support.ts";
import { release } from "./agents/release.ts";
import config from "./bridle.config.ts";

const releases = await mkdtemp(join(tmpdir(), "bridle-releases-"));
process.env.RELEASES = releases;
const models = scripted([
  {
    object: {
      headline: "Less waiting, in time and in memory.",
      breaking: ["`bridle serve --dir` is now `--data`"],
      highlights: ["Many requests share one fsync", "Tasks that wait leave memory"],
    },
  },
]);

try {
  await using server = await startProject({ config, agents: [release], models });
  const task = await server.submit("persona_release", { text: "Release v0.2.0, please." });

  const waiting = await server.untilTask(task.id, "AUTH_REQUIRED");
  console.log(`It asks: ${waiting.waiting_for?.description}`);
  await assert.rejects(readFile(join(releases, "v0.2.0.md")), { code: "ENOENT" });
  assert.match(models.calls[0]?.prompt ?? "", /no longer takes `--dir`/, "the model was told the changes");

  const requestId = waiting.waiting_for?.permission_request_id;
  await server.api(`/v1/permission-requests/${requestId}/respond`, { approved: true });
  const done = await server.untilTask(task.id, "COMPLETED");
  const summary = await server.summaryOf(done);
  assert.equal(summary, `Published v0.2.0: ${join(releases, "v0.2.0.md")}`);
  console.log("Approved, and published:\n");
  console.log(await readFile(join(releases, "v0.2.0.md"), "utf8"));

  const { valid } = await server.api(`/v1/receipts/${done.receipt_id}/verify`, {});
  assert.ok(valid, "its receipt is signed");
  console.log("\nThe receipt is valid.");
} finally {
  await rm(releases, { recursive: true, force: true });
}
