/** Logs that somebody changed: whatever comes of them is theirs, is over, and could not be more than a log. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { HarnessError } from "../../src/kernel/core/errors.ts";
import { createKernel, type WholeKernel } from "../../src/kernel/kernel.ts";
import { Issuer } from "../../src/kernel/receipts/signing.ts";
import { createSession } from "../../src/kernel/sessions/create-session.ts";
import { importSession } from "../../src/kernel/sessions/import-session.ts";
import { parseLogBundle } from "../../src/kernel/sessions/transfer/bundle.ts";
import { ensureTenant } from "../../src/kernel/workspaces/ensure-tenant.ts";
import type { Caller } from "../../src/policy/caller.ts";
import { newSigningKey } from "../../src/receipts/keys.ts";
import { AgentRegistry } from "../../src/runtime/agents/registry.ts";
import { openMemoryStore } from "../../src/store/sqlite/in-memory.ts";
import { isThorough, randomFrom } from "../runner/seed.ts";
import { type Attack, evilWorkspace, foreignLog, startAttack } from "../support/attack.ts";
import { isFinal, type Json } from "../support/client.ts";
import { exportOf, Log } from "../support/exported-log.ts";

const mutations = isThorough ? 100_000 : 10_000;

const admin = (tenantId: string): Caller => ({
  ...{ actor: "admin", tenantId, workspaceIds: null },
  scopes: new Set(["admin"]),
});

/** A kernel with a tenant that has a session, and another that imports. */
async function world(): Promise<{ kernel: WholeKernel; ids: string[]; documents: Map<string, Json> }> {
  const kernel = createKernel({
    store: openMemoryStore(),
    clock: { now: () => Date.parse("2026-01-01T00:00:00Z") },
    agents: new AgentRegistry([]),
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  for (const tenantId of ["tenant_default", "tenant_evil"]) {
    await kernel.dispatch(ensureTenant, admin(tenantId), { tenantId });
  }
  const input = { role: "user", parts: [{ type: "text", text: "private", visibility: "public" }] } as const;
  const initialMessages = [{ ...input, parts: [...input.parts] }];
  await kernel.dispatch(createSession, admin("tenant_default"), {
    workspaceId: "workspace_default",
    initialMessages,
  });
  const documents = await documentsOf(kernel);
  return { kernel, ids: [...documents.keys()], documents };
}

async function documentsOf({ store }: WholeKernel): Promise<Map<string, Json>> {
  const documents = new Map<string, Json>();
  for (const { id, body } of await store.documents({ afterId: "", limit: 10_000 })) documents.set(id, body);
  return documents;
}

let attack: Attack;
let logs: Json[][];
before(async () => {
  attack = await startAttack();
  const log = await foreignLog(
    attack,
    ...["say hello", "artifact a.txt some text", "progress half", "sleep 5", "random", "return done"],
  );
  // What the receipts of the second one are about can hardly be changed, so it is tried less often.
  logs = [...Array<Json[]>(7).fill(log.lines), (await eventfulLog(attack)).lines];
});
after(() => attack[Symbol.asyncDispose]());

/** A question, an approval, a failure and a retry, with their receipts. */
async function eventfulLog({ home }: Attack): Promise<Log> {
  const session = await home.createSession({ workspace_id: evilWorkspace });
  const personaId = "persona_rehearsal.tenant_evil";
  const script = "ask your name?\napprove send it\neffect send\nmemory write k v\nfail at last";
  const { id } = await home.submit(session.id, script, { persona_id: personaId });
  await home.untilTask(id, ({ status }) => status === "INPUT_REQUIRED");
  await home.answer(id, "ann");
  const { waiting_for } = await home.untilTask(id, ({ status }) => status === "AUTH_REQUIRED");
  const path = `/v1/permission-requests/${waiting_for.permission_request_id}/respond`;
  assert.equal((await home.post(path, { approved: true })).status, 200);
  await home.settled(await home.untilTask(id, isFinal));
  const { status, body } = await home.post(`/v1/tasks/${id}/retry`);
  assert.equal(status, 202, JSON.stringify(body));
  await home.settled(await home.untilTask(body.id, isFinal));
  return new Log(await exportOf(home, session.id));
}

/** Where a value stands: its owner and its name there. */
type Place = [owner: Json, name: string];

function placesIn(value: Json): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((name): Place[] => [[value, name], ...placesIn(value[name])]);
}

class Mutator {
  readonly #random: () => number;
  readonly #values: unknown[];
  readonly #names = [
    "tenant_id",
    "object",
    "id",
    "scopes",
    "hash",
    "ranges",
    "blob",
    "policy",
    "status",
    "replay",
    "x",
  ];

  constructor(random: () => number, ids: string[]) {
    this.#random = random;
    this.#values = [
      ...[
        ...ids,
        "tenant_default",
        "tenant_evil",
        "workspace_default",
        "api_key",
        "task",
        "session",
        "SUBMITTED",
        "",
      ],
      ...[null, true, 0, -1, 1e300, [], {}, ["admin"], [{ session_id: ids.at(-1), after: 0, through: null }]],
      { is_copy: true, source_task_id: "task_x", mode: "exact", original_event_id: null },
    ];
  }

  changed(original: Json[]): Json[] {
    const log: Json[] = structuredClone(original);
    for (let n = 1 + this.#below(4); n > 0; n--) this.#mutate(log);
    const end = log.find((line) => line.end?.events !== undefined);
    if (end !== undefined) end.end.events = log.filter((line) => line.event !== undefined).length;
    return log;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #any<T>(items: T[]): T {
    const item = items[this.#below(items.length)];
    assert.ok(item !== undefined || items.length > 0);
    return item as T;
  }

  #mutate(log: Json[]): void {
    const at = this.#below(log.length);
    const [owner, name] = this.#any(log.flatMap(placesIn));
    switch (this.#below(8)) {
      case 0:
        log.splice(at, 1);
        break;
      case 1:
        log.splice(at, 0, structuredClone(this.#any(log)));
        break;
      case 2:
        log.push(...log.splice(at, 1));
        break;
      case 3:
        delete owner[name];
        break;
      case 4:
        owner[this.#any(this.#names)] = structuredClone(this.#any(this.#values));
        break;
      case 5:
        owner[name] = structuredClone(this.#any(log.flatMap(placesIn).map(([other, key]) => other[key])));
        break;
      default:
        owner[name] = structuredClone(this.#any(this.#values));
    }
  }
}

test("SEC-C1, SEC-C2, SEC-H1 no changed log changes another tenant or leaves work that goes on", async (t) => {
  let { kernel, ids, documents } = await world();
  const mutator = new Mutator(randomFrom(), ids);
  let taken = 0;
  for (let n = 0; n < mutations; n++) {
    const text = mutator
      .changed(logs[n % logs.length] ?? [])
      .map((line) => JSON.stringify(line))
      .join("\n");
    try {
      await kernel.dispatch(importSession, admin("tenant_evil"), { bundle: parseLogBundle(text) });
    } catch (error) {
      if (error instanceof HarnessError) continue;
      throw new Error(`Case ${n}: ${text}`, { cause: error });
    }
    taken += 1;
    const now = await documentsOf(kernel);
    for (const [id, document] of documents)
      assert.deepEqual(now.get(id), document, `case ${n} changed ${id}`);
    for (const [id, document] of now) {
      if (documents.has(id)) continue;
      assert.deepEqual([document.id, document.tenant_id], [id, "tenant_evil"], `case ${n}`);
      assert.ok(imported.has(document.object), `case ${n} made ${document.object}`);
      if (document.object === "audit_log") assert.equal(document.size, 1, "the import itself");
      if (document.object === "task") assert.ok(document.outcome !== null, `case ${n} left ${id} open`);
      if (document.object === "permission_request") assert.notEqual(document.status, "pending", id);
      if (document.object === "receipt") assert.equal(document.index, null, `case ${n} is in a chain: ${id}`);
      if (document.object === "session")
        assert.deepEqual(document.ranges, [{ session_id: id, after: 0, through: null }]);
    }
    ({ kernel, ids, documents } = await world());
  }
  t.diagnostic(`${taken} were taken over`);
  assert.ok(taken > mutations / 200, "some changes are harmless");
});

const imported = new Set([
  ...["session", "message", "artifact", "task", "workspace", "branch", "audit_log"],
  ...["permission_request", "receipt"],
]);
