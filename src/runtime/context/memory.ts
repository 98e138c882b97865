/**
 * `ctx.memory`: reading is a step whose result is recorded, so a repeated run knows what it knew and not what has become
 * known since; writing happens in the commit that records it, so it happens once.
 */

import { timestamp } from "../../kernel/core/clock.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { findVisible } from "../../kernel/core/read.ts";
import {
  isExpired,
  type MemoryOwner,
  type MemoryRecord,
  type MemoryScope,
  memoryIdOf,
  memoryScopes,
  withoutMembers,
} from "../../kernel/kinds/memory.ts";
import type { SessionRecord } from "../../kernel/kinds/session.ts";
import { assertSize, emitMemory, memoryKeyCharsMax } from "../../kernel/memory/memories.ts";
import { statusesOf } from "../../kernel/memory/read-memories.ts";
import { requireCapability } from "../../kernel/personas/persona-policy.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { AgentMemory, MemoryFound } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import { allowed, outputOf } from "../run/recorded-steps.ts";
import type { Run } from "../run/run.ts";

const scopeDefault: MemoryScope = "persona";
const searchLimit = 20;
const wordsCharsMax = 1000;
/** A hundred years. */
const expiresInMsMax = 100 * 366 * 24 * 60 * 60 * 1000;

export function createMemory(run: Run): AgentMemory {
  return {
    async write(givenKey, given, { scope = scopeDefault, expiresInMs } = {}) {
      const key = checkedKey(run, givenKey);
      const content = jsonCopy(given);
      const span: StepSpan = { step: run.key(`memory:write:${key}`), kind: "memory", name: `write ${key}` };
      await beforeMemory(run, span, "write");
      const recorded = await run.recording.recall(span.step);
      if (recorded !== undefined) return String(await outputOf(run, recorded));
      assertWritable(content, expiresInMs);
      const owner = ownerIn(run, scope);
      const id = memoryIdOf(run.task.tenant_id, owner, key);
      const provenance = { actor: run.caller.actor, task_id: run.task.id, step: span.step };
      await run.recording.note((unit, task) => {
        emitMemory(unit, owner, key, {
          content,
          provenance,
          expires_at: expiresInMs === undefined ? null : timestamp(run.kernel.clock.now() + expiresInMs),
          embedding_ref: null,
          visibility: "public",
          redaction_policy: {},
          confidence: null,
          metadata: {},
        });
        const written = { step: span.step, key, memory_id: id, scope, owner_id: owner.owner_id };
        unit.emit(task, "agent.memory_write", written);
        return unit.emit(task, "span.completed", { ...span, result: { output: unit.seal<JsonValue>(id) } });
      });
      return id;
    },

    async read(givenKey, { scope } = {}) {
      const key = checkedKey(run, givenKey);
      const step = run.key(`memory:read:${key}`);
      const [found] = await readStep(run, { step, kind: "memory", name: `read ${key}` }, key, null, () =>
        findByKey(run, key, scope),
      );
      return found?.content;
    },

    async search(words) {
      const query = run.redactor.text(words.slice(0, wordsCharsMax));
      const step = run.key("memory:search");
      return await readStep(run, { step, kind: "memory", name: "search" }, null, query, () =>
        search(run, query),
      );
    },
  };
}

/** What the task's persona does not allow is a step that failed. */
async function beforeMemory(run: Run, span: StepSpan, access: "read" | "write"): Promise<void> {
  await allowed(run, span, () => requireCapability(run.task, `memory:${access}`));
}

/** What is found is recorded before it is given; the event beside it says to others what was read. */
async function readStep(
  run: Run,
  span: StepSpan,
  key: string | null,
  query: string | null,
  find: () => Promise<MemoryRecord[]>,
): Promise<MemoryFound[]> {
  await beforeMemory(run, span, "read");
  const recorded = await run.recording.recall(span.step);
  if (recorded !== undefined) return asFound(await outputOf(run, recorded));
  return await run.perform(async () => {
    const memories = await find();
    // What the agent sees now must be what it will see when the step comes from the journal.
    const found = await run.redact((redactor) =>
      redactor.value(
        memories.map(({ id, key, scope, ...memory }) => ({
          id,
          key,
          scope,
          content: withoutMembers(memory),
        })),
      ),
    );
    await run.recording.note((unit, task) => {
      const memory_ids = memories.map(({ id }) => id);
      const read = unit.emit(task, "agent.memory_read", { step: span.step, key, query, memory_ids });
      return unit.emit(read, "span.completed", { ...span, result: { output: unit.seal<JsonValue>(found) } });
    });
    return found;
  });
}

/** What a replay was given in place of a read may be the content alone. */
function asFound(output: JsonValue): MemoryFound[] {
  if (Array.isArray(output)) return output.filter(isFound);
  return [{ id: "override", key: null, scope: scopeDefault, content: output }];
}

function isFound(value: JsonValue): value is JsonObject & MemoryFound {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "content" in value;
}

/** What a persona learns in one workspace it does not know in another. */
function ownerIn({ task }: Run, scope: MemoryScope): MemoryOwner {
  const { workspace_id, session_id, persona_id, tenant_id } = task;
  switch (scope) {
    case "persona":
      return { scope, owner_id: persona_id, workspace_id };
    case "session":
      return { scope, owner_id: session_id, workspace_id };
    case "workspace":
      return { scope, owner_id: workspace_id, workspace_id };
    case "tenant":
      return { scope, owner_id: tenant_id, workspace_id: null };
  }
}

async function findByKey(run: Run, key: string, scope: MemoryScope | undefined): Promise<MemoryRecord[]> {
  const own = ownerIn(run, scope ?? scopeDefault);
  const places = own.scope === "persona" ? [own, { ...own, workspace_id: null }] : [own];
  for (const owner of places) {
    const memory = await findLive(run, memoryIdOf(run.task.tenant_id, owner, key));
    if (memory !== undefined) return [memory];
  }
  if (scope !== undefined) return [];
  return (await givenToSession(run)).filter((memory) => memory.key === key).slice(0, 1);
}

async function search(run: Run, text: string): Promise<MemoryRecord[]> {
  const { kernel, task } = run;
  const query = {
    kind: "memory",
    text,
    statuses: statusesOf(undefined, [true, false]),
    limit: searchLimit,
  };
  const owners = memoryScopes.map((scope) => ownerIn(run, scope).owner_id);
  const own = await run.own.search({ ...query, ownerIds: owners, workspaceIds: [task.workspace_id] });
  const given = new Map((await givenToSession(run)).map((memory) => [memory.id, memory]));
  const others = given.size === 0 ? [] : await run.own.search({ ...query, ids: [...given.keys()] });
  const best = new Map(
    [...own, ...others].sort((a, b) => a.score - b.score).map(({ id, body }) => [id, body]),
  );
  const now = kernel.clock.now();
  return [...best.values()]
    .map((body) => body as MemoryRecord)
    .filter((memory) => !isExpired(memory, now))
    .slice(0, searchLimit);
}

async function givenToSession(run: Run): Promise<MemoryRecord[]> {
  const document = await run.own.get("session", run.task.session_id);
  const session = document?.body as SessionRecord | undefined;
  const found = await Promise.all((session?.memory_ids ?? []).map((id) => findLive(run, id)));
  return found.filter((memory) => memory !== undefined);
}

async function findLive({ kernel, caller }: Run, id: string): Promise<MemoryRecord | undefined> {
  const memory = await findVisible(kernel.store, caller, "memory", id);
  return memory === undefined || isExpired(memory, kernel.clock.now()) ? undefined : memory;
}

/** The key is part of the step's name, and so is written down. */
function checkedKey(run: Run, given: string): string {
  const key = run.redactor.text(given);
  if (key !== "" && key.length <= memoryKeyCharsMax) return key;
  throw new AgentFailure("bad_memory_key", `A memory's key has 1 to ${memoryKeyCharsMax} characters.`);
}

function assertWritable(content: JsonValue, expiresInMs: number | undefined): void {
  if (expiresInMs !== undefined && !(expiresInMs > 0 && expiresInMs <= expiresInMsMax)) {
    throw new AgentFailure("bad_memory_expiry", `A memory expires in 1 to ${expiresInMsMax} ms.`);
  }
  try {
    assertSize(content);
  } catch (error) {
    if (error instanceof HarnessError) throw new AgentFailure(error.code, error.message);
    throw error;
  }
}
