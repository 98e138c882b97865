/** The commands for what a server is set up with: each against one server, through the public API. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { bridle, errorLine, succeeded } from "../support/cli.ts";
import { Client, type Json } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
let client: Client;
let place: { path: string } & AsyncDisposable;
before(async () => {
  server = await startServer();
  client = new Client(server);
  place = await temporaryDirectory();
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const run = (args: string[], input?: string) =>
  bridle(args, { server, ...(input === undefined ? {} : { input }) });
const words = async (...args: string[]) => succeeded(await run(args));
const json = async (...args: string[]): Promise<Json> => JSON.parse(await words(...args, "--json"));

describe("commands for resources", () => {
  test("CMD-70 a workspace is created, changed, listed and shown", async () => {
    const made = await json("workspace", "create", "shop", "--root", "shop", "--capability", "files:read");
    assert.deepEqual(made.capabilities, ["files:read"]);
    const changed = await json("workspace", "update", made.id, "--name", "store");
    assert.equal(changed.name, "store");
    assert.match(await words("workspace", "list"), new RegExp(`^${made.id} +store +shop`, "m"));
    assert.match(await words("workspace", "show", made.id), /^Capabilities +files:read$/m);
    assert.match(errorLine(await run(["workspace", "update", made.id]), 2), /nothing to change/);
  });

  test("CMD-70 a connector is created with its secret once, paused, resumed and deleted", async () => {
    const made = await json("connector", "create", "--persona", "persona_default", "--event", "a.b");
    assert.match(made.secret, /^whsec_/);
    assert.doesNotMatch(await words("connector", "show", made.id), /whsec_/);
    assert.equal((await json("connector", "pause", made.id)).status, "PAUSED");
    assert.equal((await client.get(`/v1/connectors/${made.id}`)).body.status, "PAUSED");
    assert.equal((await json("connector", "resume", made.id)).status, "ACTIVE");
    assert.match(await words("connector", "delete", made.id), /is deleted/);
    assert.equal(
      await words("connector", "list"),
      "No connectors. Create one with `bridle connector create`.\n",
    );
  });

  test("CMD-71 a secret is set from standard input, listed without its value and deleted", async () => {
    const set = await run(["secret", "set", "TOKEN"], "canary-value-12345\n");
    assert.match(succeeded(set), /^TOKEN is set, version 1, in vault_/);
    const again = JSON.parse(
      succeeded(await run(["secret", "set", "TOKEN", "--json"], "another-value-12345")),
    );
    assert.equal(again.version, 2, "in the same vault");
    const { value } = await client.get(`/v1/vaults/${again.vault_id}`).then(({ body }) => body);
    assert.equal(value, undefined);
    assert.match(await words("secret", "list"), /^TOKEN +2 /m);
    assert.deepEqual(await json("secret", "list", "--workspace", "workspace_default"), []);
    assert.match(await words("secret", "delete", "TOKEN"), /^TOKEN is deleted/);
    assert.match(
      errorLine(await run(["secret", "delete", "TOKEN"]), 1),
      /no secret TOKEN in the vaults of all/,
    );
    assert.match(errorLine(await run(["secret", "set", "TOKEN"], "\n"), 1), /no value was given/);
    assert.doesNotMatch(server.output(), /canary-value/);
  });

  test("CMD-73 a schedule keeps its id when it is paused and resumed, and submits nothing meanwhile", async () => {
    const { id } = await json(
      "schedule",
      "create",
      "persona_default",
      "--cron",
      "0 2 * * *",
      "--input",
      '{"a":1}',
    );
    const nextOf = async () => (await json("schedule", "show", id)).next_at;
    assert.match(await nextOf(), /T02:00:00/);
    await words("schedule", "pause", id);
    assert.equal(await nextOf(), null);
    assert.match(await words("schedule", "list"), new RegExp(`^${id} .* paused `, "m"));
    await words("schedule", "resume", id);
    const events = (await client.listAll("/v1/events"))
      .filter(({ resource }) => resource?.id === id)
      .map(({ event, payload }) => [event, payload.next_at]);
    assert.equal(events[1]?.[0], "vendor.bridle.schedule.stopped");
    assert.equal(events[2]?.[0], "vendor.bridle.schedule.moved");
    assert.match(events[2]?.[1], /T02:00:00/);
    await words("schedule", "delete", id);
    assert.match(errorLine(await run(["schedule", "pause", id]), 1), /there is no schedule/);
  });

  test("CMD-72 an edited persona shows what changes and is saved; a mistake changes nothing", async () => {
    const before = await json("persona", "show", "persona_default");
    const edit = async (fields: object) => {
      const file = join(place.path, "persona.yaml");
      await writeFile(file, JSON.stringify(fields));
      return await run(["persona", "edit", "persona_default", "--file", file, "--yes"]);
    };
    const { name, entry_workflow, description, receipt_policy } = before;
    const kept = { name, entry_workflow, description, receipt_policy };
    const saved = await edit({
      ...kept,
      autonomy_tier: "act_with_approval",
      approval_policy: { ask_from: "high" },
    });
    assert.match(
      saved.stderr,
      /^- autonomy_tier: act_auto\n\+ autonomy_tier: act_with_approval\n {2}receipt_policy: required\n[\s\S]*\+ approval_policy:\n\+ {3}ask_from: high\n$/m,
    );
    assert.match(succeeded(saved), /has version \d, for tasks that are submitted from now on/);
    const wrong = await edit({ ...kept, autonomy_teir: "act_auto" });
    assert.match(errorLine(wrong, 1), /no field autonomy_teir\. Did you mean autonomy_tier\?/);
    assert.match(errorLine(await edit({ name }), 1), /cannot be without/);
    const { approval_policy } = (await client.get("/v1/personas/persona_default")).body;
    assert.deepEqual(approval_policy, { ask_from: "high" });
  });

  test("CMD-70 the webhooks of a task are listed", async () => {
    const session = await client.createSession();
    const task = await client.submit(session.id, "hello");
    assert.equal(await words("webhook", "list", "last"), "No webhooks.\n");
    assert.deepEqual(await json("webhook", "list", task.id), []);
  });
});
