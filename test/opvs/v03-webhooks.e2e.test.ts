/** Webhooks of one task that were registered in different ways: each is told in the words of its own version. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { legacyPushNotificationToV1StreamResponse } from "@a2a-js/sdk/compat/v0_3";
import { startReceiver } from "../support/push.ts";
import { startServer } from "../support/server.ts";
import { ask, kinded, rehearsal, rpc } from "./v03.ts";

test("VCP-7 webhooks of both versions hear a cancel by 1.0, each in its own version", async () => {
  // Given webhooks of both versions, when 1.0 cancels the task, then each hears of it in its own.
  await using server = await startServer({ flags: ["--allow-private-addresses"] });
  await using along = await startReceiver();
  await using set = await startReceiver();
  await using rested = await startReceiver();
  await using current = await startReceiver();
  const version = { "A2A-Version": "1.0" };

  const pushNotificationConfig = { url: along.url, token: "token-of-mine" };
  const configuration = { blocking: false, pushNotificationConfig };
  const started = await ask(
    server.url,
    rpc("message/send", { ...kinded("sleep 600000"), configuration }, rehearsal),
  );
  const { id: taskId } = started.body.result;
  const answers = [
    await ask(
      server.url,
      rpc("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig: { url: set.url } }),
    ),
    await ask(server.url, {
      path: `/opvs/rest/v1/tasks/${taskId}/pushNotificationConfigs`,
      body: { config: { pushNotificationConfig: { url: rested.url } } },
    }),
    await ask(server.url, {
      path: `/opvs/rest/tasks/${taskId}/pushNotificationConfigs`,
      body: { url: current.url },
      headers: version,
    }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => Math.floor(status / 100)),
    [2, 2, 2],
  );
  await ask(server.url, rpc("CancelTask", { id: taskId }, { headers: version }));

  for (const receiver of [along, set, rested]) {
    await receiver.until(({ body }) => body.final === true);
    const last = receiver.received.at(-1);
    assert.equal(last?.headers["content-type"], "application/json");
    assert.equal(last?.body.kind, "status-update");
    assert.equal(last?.body.status.state, "canceled");
    for (const body of receiver.bodies()) {
      assert.equal(JSON.stringify(body).includes("TASK_STATE"), false);
      // The official library's receiver takes it.
      assert.ok(legacyPushNotificationToV1StreamResponse(body).payload !== undefined);
    }
  }
  assert.equal(along.bodies()[0].kind, "task");
  assert.equal(along.received[0]?.headers["x-a2a-notification-token"], "token-of-mine");
  await current.until(({ body }) => body.statusUpdate?.status.state === "TASK_STATE_CANCELED");
  assert.equal(
    current.bodies().some((body) => "kind" in body),
    false,
  );
});
