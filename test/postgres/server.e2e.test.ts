/** A server on PostgreSQL: what it refuses to start on, and what it does while its database is away. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { defineAgent } from "bridle";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { startServer as startInProcess } from "../../src/server/server.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { bridle } from "../support/cli.ts";
import { Client, errorOf, isFinal, until } from "../support/client.ts";
import { assertRefolds } from "../support/log.ts";
import { sharedPostgres, startPostgres } from "../support/postgres.ts";
import { startProcess, startServer, temporaryDirectory } from "../support/server.ts";

const postgres = sharedPostgres();

/** Two steps with a sleep between them, so that it is under way when something happens. */
const walker = defineAgent({
  name: "walker",
  version: "1.0.0",
  async run(ctx) {
    const first = await ctx.step("first", () => 1);
    await ctx.sleep(300);
    return `${first} ${await ctx.step("second", () => 2)}`;
  },
});

async function refusalOn(databaseUrl: string): Promise<string> {
  await using directory = await temporaryDirectory();
  const started = startInProcess({ port: 0, dataDirectory: directory.path, databaseUrl });
  const error: unknown = await started.then(
    async (server) => {
      await server.stop(0);
      assert.fail("it started");
    },
    (refusal: unknown) => refusal,
  );
  assert.ok(error instanceof Error);
  assert.equal(exitCodeOf(error), 2, error.message);
  assert.doesNotMatch(error.message, /\n|topsecret/);
  return error.message;
}

describe("starting on PostgreSQL", () => {
  test("PGS-9 a database that cannot be used is refused in one line that says what to do", async () => {
    const server = await postgres;
    const url = await server.newDatabase();
    const withPassword = url.replace("bridle@", "bridle:topsecret@");
    assert.match(
      await refusalOn(withPassword.replace(server.port, "1")),
      /^Cannot connect to PostgreSQL at 127\.0\.0\.1:1\/\w+ \(ECONNREFUSED\)\. Start it, or correct BRIDLE_DATABASE_URL\.$/,
    );
    assert.match(await refusalOn(`${withPassword}_not`), /has no such database\. Create it with createdb/);
    assert.match(await refusalOn(url.replace("bridle@", "nobody:topsecret@")), /refuses the user/);
    await server.query("CREATE ROLE guest LOGIN");
    assert.match(
      await refusalOn(url.replace("bridle@", "guest@")),
      /does not let the role guest create tables/,
    );
    await server.query(
      "CREATE ROLE reader LOGIN SUPERUSER; ALTER ROLE reader SET default_transaction_read_only = on",
    );
    assert.match(await refusalOn(url.replace("bridle@", "reader@")), /is read-only/);
    await server.query("CREATE ROLE few LOGIN SUPERUSER CONNECTION LIMIT 5");
    assert.match(await refusalOn(url.replace("bridle@", "few@")), /allows 5 connections, Bridle needs 14/);
    const wrong = await bridle(["serve"], { env: { BRIDLE_DATABASE_URL: "mysql://root:topsecret@host/db" } });
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /^error: .*It must look like postgres:\/\/.*\n$/);
    assert.doesNotMatch(wrong.stderr + wrong.stdout, /topsecret/);
  });

  test("PGS-9 commands for data directories of SQLite say that they do not work on PostgreSQL", async () => {
    const env = { BRIDLE_DATABASE_URL: await (await postgres).newDatabase() };
    for (const command of [["backup", "to"], ["scrub"], ["rebuild"]]) {
      const { code, stderr } = await bridle(command, { env });
      assert.equal(code, 1);
      assert.match(
        stderr,
        /BRIDLE_DATABASE_URL is set, and this command works on data directories with SQLite/,
      );
    }
  });

  test("PGS-12 the doctor and the configuration tell of the database without its password", async () => {
    await using directory = await temporaryDirectory();
    const url = (await (await postgres).newDatabase()).replace("bridle@", "bridle:topsecret@");
    const env = { BRIDLE_DATABASE_URL: url, BRIDLE_DATA: directory.path };
    const asked = await bridle(["doctor", "--port", "0", "--json"], { env });
    const findings: { check: string; status: string; message: string }[] = JSON.parse(asked.stdout);
    const store = findings.find(({ check }) => check === "store");
    assert.equal(store?.status, "ok");
    assert.match(store?.message ?? "", /^PostgreSQL \d+\.\d+, \d+ MiB$/);
    const superuser = url.replace("bridle:topsecret@", "postgres:topsecret@");
    const weak = await bridle(["doctor", "--port", "0"], { env: { ...env, BRIDLE_DATABASE_URL: superuser } });
    assert.match(weak.stdout, /^warning +store +PostgreSQL .*passes row-level security/m);
    const printed = await bridle(["config", "print"], { env });
    assert.match(printed.stdout, /^databaseUrl +\(set\)/m);
    assert.doesNotMatch(asked.stdout + weak.stdout + printed.stdout + asked.stderr, /topsecret/);
  });

  test("PGS-10 a second server is refused, and one that follows a killed one goes on where it was", async () => {
    const url = await (await postgres).newDatabase();
    const env = {
      BRIDLE_DATABASE_URL: url.replace("bridle@", "bridle:topsecret@"),
      BRIDLE_LOG_LEVEL: "trace",
    };
    await using data = await temporaryDirectory();
    const first = await startProcess({ data: data.path, env });
    const client = new Client(first);
    const session = await client.createSession();
    const task = await client.submit(session.id, "hello");
    await client.untilTask(task.id, isFinal);
    assert.match(await refusalOn(url), /Another server uses this database \(schema bridle\)/);
    assert.ok(!existsSync(join(data.path, "bridle.db")));
    const told = first.output();
    await first.kill();
    await using second = await startProcess({ data: data.path, env });
    const again = await new Client(second).get(`/v1/tasks/${task.id}`);
    assert.equal(again.body.status, "COMPLETED");
    assert.doesNotMatch(told + second.output(), /topsecret/);
  });
});

test("PGS-11 while the database is away requests get 503, and afterwards nothing is lost", async () => {
  await using server = await startPostgres();
  const url = await server.newDatabase();
  await using bridleServer = await startServer({
    env: { BRIDLE_DATABASE_URL: url, BRIDLE_METRICS: "open" },
    config: { agents: [walker] },
  });
  const client = new Client(bridleServer);
  const session = await client.createSession();
  const accepted: string[] = [];
  const submit = async () => {
    const answer = await client.post("/v1/tasks", {
      session_id: session.id,
      persona_id: "persona_walker",
      input: { type: "message", message: { role: "user", parts: [{ type: "text", text: "go" }] } },
    });
    if (answer.status === 202) accepted.push(answer.body.id);
    return answer;
  };
  for (let n = 0; n < 5; n++) assert.equal((await submit()).status, 202);
  await server.kill();
  // What was about to be read is read when the database is back; new requests are refused.
  await until(
    () => client.get("/ready"),
    ({ status }) => status === 503,
  );
  for (const answer of [
    await submit(),
    await client.get("/v1/tasks"),
    await client.get(`/v1/sessions/${session.id}`),
  ]) {
    assert.equal(errorOf(answer, 503).code, "service_unavailable");
    assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/);
  }
  const ready = await client.get("/ready");
  assert.deepEqual([ready.body.status, ready.body.reason], ["store_unavailable", "database unreachable"]);
  assert.equal((await client.get("/health")).status, 200);
  assert.match((await client.get("/metrics")).body, /^bridle_store_writable\{store="log"\} 0$/m);

  await server.start();
  await until(
    () => client.get("/ready"),
    ({ status }) => status === 200,
  );
  assert.equal((await submit()).status, 202);
  for (const id of accepted) {
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.status, "COMPLETED");
  }
  assert.match(bridleServer.output(), /store\.write_failed.*store\.write_recovered/s);
  await bridleServer.stop();
  const store = await openPostgresStore({ url, schema: "bridle", isSole: true });
  await assertRefolds(store).finally(() => store.close());
});
