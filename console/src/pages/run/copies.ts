/** A run as something to run again elsewhere. No key is in any of it. */

import type { Task } from "bridle/client";
import type { RunView } from "./log.ts";
import { agentOf, isRecord } from "./words.ts";

export const protocolVersion = "agents-protocol-2026-04-25";

function inputOf({ input }: Task): unknown {
  return isRecord(input) && Array.isArray(input.parts) ? { role: input.role, parts: input.parts } : input;
}

export function asCurl(task: Task): string {
  const body = JSON.stringify({
    session_id: task.session_id,
    persona_id: task.persona_id,
    input: inputOf(task),
  });
  const quoted = body.replaceAll("'", "'\\''");
  return [
    `curl ${location.origin}/v1/tasks`,
    `-H "Authorization: Bearer $BRIDLE_API_KEY"`,
    `-H "Harn-Agents-Protocol-Version: ${protocolVersion}"`,
    `-H "Content-Type: application/json"`,
    `-d '${quoted}'`,
  ].join(" \\\n  ");
}

export function asClientCode(task: Task): string {
  const request = JSON.stringify({ personaId: task.persona_id, input: plainInput(task) }, null, 2);
  return `import { createClient } from "bridle/client";

const bridle = createClient({ url: ${JSON.stringify(location.origin)}, key: process.env.BRIDLE_API_KEY ?? "" });
const { id } = await bridle.tasks.submit(${request});
const task = await bridle.tasks.wait(id);
console.log(task.status);
`;
}

/** A test that runs the agent with the same input, the same people and nothing real. */
export function asFixture(task: Task, { said }: RunView): string {
  const answers = said.flatMap((one) =>
    one.type === "message" && one.message.role === "user" ? [answerIn(one.message.parts)] : [],
  );
  const approvals = said.flatMap((one) =>
    one.type === "approval" ? [one.request.status === "approved"] : [],
  );
  const { name } = agentOf(task);
  return `import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "bridle/testing";
import agent from "./${name}.ts";

test(${JSON.stringify(`${name} does as in ${task.id}`)}, async () => {
  const run = await rehearse(agent, {
    input: ${JSON.stringify(plainInput(task), null, 2).replaceAll("\n", "\n    ")},
    people: ${JSON.stringify({ answers, approvals })},
  });
  assert.equal(run.status, ${JSON.stringify(task.status)});
});
`;
}

function plainInput({ input }: Task): unknown {
  return isRecord(input) && Array.isArray(input.parts) ? answerIn(input.parts) : input;
}

function answerIn(parts: readonly unknown[]): unknown {
  const [part] = parts;
  if (!isRecord(part)) return null;
  return typeof part.text === "string" ? part.text : (part.value ?? null);
}
