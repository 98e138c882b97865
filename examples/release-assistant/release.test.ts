/** Tests of the agent, in memory, in milliseconds: see docs/guides/testing.md. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RehearsalOptions, rehearse } from "bridle/testing";
import { release } from "./agents/release.ts";
import config from "./bridle.config.ts";

const draft = { headline: "Faster.", breaking: [], highlights: ["Requests share one fsync"] };

/** Everything but the people: what the persona says, what the model drafts, and a tool that publishes nothing. */
function rehearsal(published: unknown[]): RehearsalOptions {
  const [persona = {}] = config.personas ?? [];
  return {
    input: "Release v1.2.0, please.",
    persona,
    models: [{ object: draft }],
    tools: {
      publish({ version = "" }) {
        published.push(version);
        return { path: `releases/${version}.md` };
      },
    },
  };
}

test("a release is published once somebody approved it", async () => {
  const published: unknown[] = [];
  const run = await rehearse(release, { ...rehearsal(published), people: { approvals: [true] } });
  assert.equal(run.output, "Published v1.2.0: releases/v1.2.0.md");
  assert.deepEqual(published, ["v1.2.0"]);
  assert.match(
    run.artifacts[0]?.text ?? "",
    /^# v1\.2\.0\n\nFaster\.\n\n## New\n\n- Requests share one fsync$/,
  );
  run.expectSteps(["tool:unreleased:1", "llm:notes:1", "artifact:*", "...", "tool:publish:1"]);
});

test("a release that is not approved is not published", async () => {
  const published: unknown[] = [];
  const approvals = { publish: { approved: false, reason: "not on a Friday" } };
  const run = await rehearse(release, { ...rehearsal(published), people: { approvals } });
  assert.equal(run.failure?.code, "approval_denied");
  assert.deepEqual(published, []);
});

test("a version that is not given is asked for", async () => {
  const people = { answers: ["v2.0.0"], approvals: [true] };
  const run = await rehearse(release, { ...rehearsal([]), input: "Release it.", people });
  assert.equal(run.output, "Published v2.0.0: releases/v2.0.0.md");
});

test("wherever the process dies, the release comes to the same end", async () => {
  const people = { approvals: [true] };
  const run = await rehearse(release, { ...rehearsal([]), people, crashEverywhere: true });
  assert.equal(run.status, "COMPLETED");
});
