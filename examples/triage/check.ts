/**
 * Runs the project on a server of its own with a tracker beside it, sends issues, plays the person who is asked, and exits
 * with 1 when something is wrong.
 *
 *   node examples/triage/check.ts
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { scripted } from "bridle/testing";
import { startProject } from "../support.ts";
import { triage } from "./agents/triage.ts";
import config from "./bridle.config.ts";
import { type Connector, type Issue, send } from "./send.ts";

/** What the tracker was told, in order. */
const told: string[] = [];
const tracker = createServer(async (request, response) => {
  told.push(`${request.url} ${await text(request)}`);
  response.end("{}");
}).listen(0, "127.0.0.1");
await new Promise((resolve) => tracker.once("listening", resolve));
process.env.TRACKER_URL = `http://127.0.0.1:${(tracker.address() as AddressInfo).port}`;

const models = scripted(({ prompt }) => ({
  object: prompt.includes("refused")
    ? { kind: "bug", area: "billing", urgent: true, reason: "Nobody can pay." }
    : { kind: "question", area: "login", urgent: false, reason: "It can wait." },
}));
const harmless = { number: 7, title: "Forgotten password", text: "Where can I get a new one?" };
const urgent = { number: 8, title: "No order can be paid", text: "Since ten o'clock all cards are refused." };

try {
  await using server = await startProject({ config, agents: [triage], models });
  const connector: Connector = await server.api("/v1/connectors", {
    provider: "webhook",
    workspace_id: "workspace_default",
    target_persona_id: "persona_triage",
    event_kinds: ["issue.opened"],
  });

  const forger = { ...connector, secret: `whsec_${randomBytes(24).toString("base64")}` };
  assert.equal((await send(server.url, forger, "issue-7", harmless)).status, 401);
  console.log("An issue that the tracker did not sign is refused.");

  const deliver = async (id: string, issue: Issue) => {
    const response = await send(server.url, connector, id, issue);
    return (await response.json()) as { task_id: string; deduped: boolean };
  };

  const { task_id: first } = await deliver("issue-7", harmless);
  console.log(await server.summaryOf(await server.untilTask(first, "COMPLETED")));
  const again = await deliver("issue-7", harmless);
  assert.deepEqual([again.task_id, again.deduped], [first, true]);
  console.log("Sent again, it is known.");

  const { task_id: second } = await deliver("issue-8", urgent);
  const asking = await server.untilTask(second, "INPUT_REQUIRED");
  console.log(`It asks: ${asking.waiting_for?.description}`);
  await server.answer(second, { assignee: "ada" });
  console.log(await server.summaryOf(await server.untilTask(second, "COMPLETED")));

  assert.deepEqual(told, [
    '/issues/7/labels {"labels":["question","login"]}',
    '/issues/8/labels {"labels":["bug","billing","urgent"]}',
    '/issues/8/assignees {"assignees":["ada"]}',
  ]);
  assert.equal(models.calls.length, 2);
} finally {
  tracker.close();
  tracker.closeAllConnections();
}
