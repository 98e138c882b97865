/**
 * Branches of an agent's code that run side by side, whatever they do and however the world answers: the run ends, it can
 * be repeated exactly, and a server that is killed in the middle takes it up where it was.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { isThorough, randomFrom, seed } from "./runner/seed.ts";
import { anyProgram, type Program } from "./support/branches.ts";
import { Client, isFinal, type Json } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "./support/server.ts";

const script = fileURLToPath(new URL("./support/branches-server.ts", import.meta.url));
const rounds = isThorough ? 20 : 2;
const programsInRound = 12;
const random = randomFrom();
const patienceMs = 60_000;

/** Roles under which the same program takes other ways. */
const roles: { autonomy_tier?: string; limits?: object }[] = [
  { autonomy_tier: "act_auto" },
  { autonomy_tier: "act_with_approval" },
  { autonomy_tier: "suggest" },
  { autonomy_tier: "shadow" },
  { autonomy_tier: "act_auto", limits: { tool_calls: 5, output_tokens: 5 } },
];

/** One of the roles, with a quota of its own where it has one. */
async function createRole(client: Client, index: number): Promise<string> {
  const { autonomy_tier, limits } = roles[index % roles.length] ?? {};
  const quota =
    limits === undefined
      ? null
      : await client.post("/v1/quotas", { scope: "persona", limits, on_exhaustion: "ask" });
  const { body, status } = await client.post("/v1/personas", {
    name: `role ${index}`,
    version: "1",
    entry_workflow: "branches",
    description: "",
    autonomy_tier,
    receipt_policy: "optional",
    ...(quota === null ? {} : { quota_id: quota.body.id }),
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** Answers whatever is asked, at moments of its own, until all have ended. */
async function answerUntilAllEnded(
  client: Client,
  sessionId: string,
  isOver: () => boolean,
): Promise<Json[]> {
  const deadline = Date.now() + patienceMs;
  while (!isOver()) {
    const tasks = await client.listAll(`/v1/sessions/${sessionId}/tasks`);
    if (tasks.every(isFinal)) return tasks;
    assert.ok(Date.now() < deadline, `still open: ${JSON.stringify(tasks.filter((task) => !isFinal(task)))}`);
    await Promise.all(tasks.filter(() => random() < 0.5).map((task) => answer(client, task)));
  }
  return [];
}

async function answer(client: Client, { id, status, waiting_for: waits }: Json): Promise<void> {
  if (status === "INPUT_REQUIRED") await client.answer(id, "yes");
  if (status !== "AUTH_REQUIRED") return;
  const approved = waits.description.startsWith("Go on beyond") || random() < 0.7;
  // The task may have gone on without the answer.
  await client.post(`/v1/permission-requests/${waits.permission_request_id}/respond`, { approved });
}

async function submitAll(client: Client, sessionId: string, programs: Program[]) {
  return await Promise.all(
    programs.map(async (program, index) => {
      const personaId = await createRole(client, index);
      const { body, status } = await client.post("/v1/tasks", {
        session_id: sessionId,
        persona_id: personaId,
        input: { program },
      });
      assert.equal(status, 202, JSON.stringify(body));
      return { id: body.id, program };
    }),
  );
}

async function untilEnded(client: Client, id: string): Promise<Json> {
  return await client.untilTask(id, isFinal);
}

function assertCompleted(task: Json, what: string, program: Program): void {
  if (task.status === "COMPLETED") return;
  assert.fail(`${what} of ${task.id}: ${JSON.stringify(task.failure)}\n${JSON.stringify(program)}`);
}

describe("branches side by side", () => {
  test("PAR-1 PAR-2 any program of branches survives a crash and replays exactly", async () => {
    // Given any program of branches, when the server is killed while it runs and it is repeated afterwards, then it ends
    // as it did and repeats exactly.
    await using directory = await temporaryDirectory();
    let server: TestProcess = await startProcess({ data: directory.path, script });
    try {
      let client = new Client(server);
      for (let round = 0; round < rounds; round++) {
        const programs = fc.sample(anyProgram, { seed: seed + round, numRuns: programsInRound });
        const session = await client.createSession();
        const submitted = await submitAll(client, session.id, programs);
        const dead = { yet: false };
        const answering = answerUntilAllEnded(client, session.id, () => dead.yet).catch(() => []);
        await new Promise((resolve) => setTimeout(resolve, random() * 250));
        dead.yet = true;
        await server.kill();
        await answering;
        server = await startProcess({ data: directory.path, script });
        client = new Client(server);
        await answerUntilAllEnded(client, session.id, () => false);
        for (const { id, program } of submitted)
          assertCompleted(await untilEnded(client, id), "the run", program);
        const replays = await Promise.all(
          submitted.map(async ({ id, program }) => {
            const { body } = await client.post(`/v1/tasks/${id}/replay`, { mode: "exact" });
            return { id: body.id, program };
          }),
        );
        for (const { id, program } of replays)
          assertCompleted(await untilEnded(client, id), "the replay", program);
      }
      await server.stop();
    } finally {
      await server[Symbol.asyncDispose]();
    }
    await assertRebuildable(directory.path);
  });
});
