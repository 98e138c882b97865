/** A task moves only along the table, whoever pushes it. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { pino } from "pino";
import { cases } from "../../../test/runner/seed.ts";
import { temporaryDirectory } from "../../../test/support/server.ts";
import { rehearsal } from "../../agents/rehearsal.ts";
import { systemCaller } from "../../policy/caller.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import { AgentRegistry } from "../../runtime/agents/registry.ts";
import { startRuntime } from "../../runtime/runtime.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { respondPermissionRequest } from "../approvals/respond-permission-request.ts";
import { systemClock } from "../core/clock.ts";
import { HarnessError } from "../core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../core/events.ts";
import { getRecord } from "../core/read.ts";
import { createKernel, type WholeKernel } from "../kernel.ts";
import { textPart } from "../kinds/message.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { Issuer } from "../receipts/signing.ts";
import { createSession } from "../sessions/create-session.ts";
import { defaultTenantId, ensureTenant } from "../workspaces/ensure-tenant.ts";
import { appendTaskMessage } from "./append-task-message.ts";
import { cancelTask } from "./cancel-task.ts";
import { assertMove, isFinal, mayMove, type TaskStatus } from "./lifecycle.ts";
import { submitTask } from "./submit-task.ts";

/** The protocol's table, written out once more: each pair that is allowed. */
const allowedMoves: readonly `${TaskStatus} > ${TaskStatus}`[] = [
  "SUBMITTED > WORKING",
  "SUBMITTED > CANCELED",
  "SUBMITTED > FAILED",
  "WORKING > INPUT_REQUIRED",
  "WORKING > AUTH_REQUIRED",
  "WORKING > COMPLETED",
  "WORKING > FAILED",
  "WORKING > CANCELED",
  "INPUT_REQUIRED > WORKING",
  "INPUT_REQUIRED > CANCELED",
  "INPUT_REQUIRED > FAILED",
  "AUTH_REQUIRED > WORKING",
  "AUTH_REQUIRED > CANCELED",
  "AUTH_REQUIRED > FAILED",
];
const statuses = [
  "SUBMITTED",
  "WORKING",
  "INPUT_REQUIRED",
  "AUTH_REQUIRED",
  "COMPLETED",
  "FAILED",
  "CANCELED",
] as const satisfies readonly TaskStatus[];

function isAllowed(from: TaskStatus, to: TaskStatus): boolean {
  return allowedMoves.includes(`${from} > ${to}`);
}

describe("the table", () => {
  test("TSK-3 allows exactly the state transitions of the protocol", () => {
    // Given every pair of states, when it is asked whether one may follow the other, then the answer is the protocol's.
    for (const from of statuses) {
      for (const to of statuses) {
        assert.equal(mayMove(from, to), isAllowed(from, to), `${from} > ${to}`);
        if (isAllowed(from, to)) assertMove("task_x", from, to);
        else assert.throws(() => assertMove("task_x", from, to), { code: "invalid_state_transition" });
      }
    }
  });

  test("TSK-5 exactly completed, failed and canceled are final", () => {
    // Given every state, when nothing may follow it, then exactly completed, failed and canceled are final.
    assert.deepEqual(statuses.filter(isFinal), ["COMPLETED", "FAILED", "CANCELED"]);
  });

  test("TSK-3 no walk along the table leaves a final state", () => {
    // Given any walk through states, when only moves of the table are made, then it never leaves a final state.
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...statuses), { maxLength: 30 }), (wishes) => {
        let status: TaskStatus = "SUBMITTED";
        for (const wish of wishes) {
          if (mayMove(status, wish)) {
            assert.ok(!isFinal(status));
            status = wish;
          }
        }
      }),
    );
  });
});

type Push =
  | { do: "cancel" | "answer" | "approve" | "deny" | "interrupt"; task: number }
  | { do: "settle" | "turn" };

const line = fc.constantFrom(
  "say hello",
  "ask Sure?",
  "approve It",
  "sleep 3",
  "step roll",
  "stream 2",
  "checkpoint here",
  "fail badly",
  "reject it",
  "return early",
  "nonsense",
);

const scripts = fc.array(fc.array(line, { maxLength: 6 }), { minLength: 1, maxLength: 4 });

const push: fc.Arbitrary<Push> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("answer", "approve", "deny", "interrupt"),
      task: fc.nat({ max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancel"), task: fc.nat({ max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("settle", "turn") }) },
);

describe("commands and runs", () => {
  test("TSK-3 TSK-4 TSK-5 TSK-6 tasks move only along the table and documents match their events", async () => {
    // Given any scripts, when tasks are answered, approved, denied and canceled at any moment, then they move only along
    // the table and each document is what its events say.
    await using scene = await openScene();
    await fc.assert(
      fc.asyncProperty(scripts, fc.array(push, { maxLength: 20 }), async (plays, pushes) => {
        const sessionId = await scene.newSession();
        const tasks = await Promise.all(plays.map((lines) => scene.submit(sessionId, lines.join("\n"))));
        for (const each of pushes) await scene.push(each, tasks);
        for (const id of tasks) await scene.assertConsistent(id);
        for (const id of tasks) {
          await scene.end(id);
          await scene.assertConsistent(id);
        }
      }),
      { numRuns: cases(120) },
    );
  });

  test("TSK-6 a task canceled just as it ends has one end, and a canceled one stays canceled", async () => {
    // Given tasks that are about to end, when they are canceled at that moment, then each ends exactly once and a
    // canceled one stays canceled.
    await using scene = await openScene();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 6 }), { minLength: 1, maxLength: 10 }), async (delays) => {
        const sessionId = await scene.newSession();
        const ends = await Promise.all(
          delays.map(async (turns) => {
            const id = await scene.submit(sessionId, "say hello\nreturn end");
            for (let n = 0; n < turns; n++) await nextTurn();
            await scene.refusable(scene.kernel.dispatch(cancelTask, caller, { taskId: id }));
            await scene.end(id);
            return id;
          }),
        );
        for (const id of ends) await scene.assertConsistent(id);
      }),
      { numRuns: 40 },
    );
  });
});

const caller = systemCaller(defaultTenantId);
/** Refusals that a command may meet when the task has moved on in the meantime. */
const refusals: ReadonlySet<string> = new Set(["conflict", "invalid_state_transition"]);
const terminalEvents: ReadonlySet<string> = new Set(["task.completed", "task.failed", "task.canceled"]);
const namedEvents: Partial<Record<TaskStatus, string>> = {
  INPUT_REQUIRED: "task.input_required",
  AUTH_REQUIRED: "task.auth_required",
  COMPLETED: "task.completed",
  FAILED: "task.failed",
  CANCELED: "task.canceled",
};

/** A kernel with its runtime on a store in a temporary directory. */
class Scene implements AsyncDisposable {
  readonly kernel: WholeKernel;
  readonly #store: WholeStore;
  readonly #close: () => Promise<void>;

  constructor(kernel: WholeKernel, close: () => Promise<void>) {
    this.kernel = kernel;
    this.#store = kernel.store;
    this.#close = close;
  }

  async newSession(): Promise<string> {
    const request = { workspaceId: "workspace_default" };
    return (await this.kernel.dispatch(createSession, caller, request)).result.id;
  }

  async submit(sessionId: string, text: string): Promise<string> {
    const message = { role: "user" as const, parts: [textPart(text)] };
    const request = { sessionId, personaId: "persona_rehearsal", input: { message } };
    return (await this.kernel.dispatch(submitTask, caller, request)).result.id;
  }

  async push(push: Push, tasks: readonly string[]): Promise<void> {
    if (!("task" in push)) {
      if (push.do === "turn") await nextTurn();
      else for (const id of tasks) await this.settled(id);
      return;
    }
    const taskId = tasks[push.task % tasks.length] ?? "";
    const message = { role: "user" as const, parts: [textPart("yes")] };
    const { dispatch } = this.kernel;
    switch (push.do) {
      case "cancel":
        return await this.refusable(dispatch(cancelTask, caller, { taskId }));
      case "answer":
        return await this.refusable(dispatch(appendTaskMessage, caller, { taskId, kind: "input", message }));
      case "interrupt":
        return await this.refusable(
          dispatch(appendTaskMessage, caller, { taskId, kind: "interrupt", message }),
        );
      case "approve":
      case "deny": {
        const { pending } = await getRecord(this.kernel, caller, "task", taskId);
        const requestId = pending?.permission_request_id;
        if (requestId == null) return;
        const request = { requestId, approved: push.do === "approve", reason: null };
        return await this.refusable(dispatch(respondPermissionRequest, caller, request));
      }
    }
  }

  /** Waits for a command that may come too late. */
  async refusable(command: Promise<unknown>): Promise<void> {
    try {
      await command;
    } catch (error) {
      if (!(error instanceof HarnessError) || !refusals.has(error.code)) throw error;
    }
  }

  /** Waits until the task has ended or waits for somebody. */
  async settled(taskId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = async () => {
      const { status, pending } = await getRecord(this.kernel, caller, "task", taskId);
      if (isFinal(status) || pending !== null) resolve();
    };
    const stop = this.kernel.tail.on(`task:${taskId}`, () => void look());
    await look();
    await promise;
    stop();
  }

  /** Answers whatever the task asks until it has ended. */
  async end(taskId: string): Promise<void> {
    while (true) {
      await this.settled(taskId);
      const { status } = await getRecord(this.kernel, caller, "task", taskId);
      if (isFinal(status)) return;
      await this.push({ do: status === "AUTH_REQUIRED" ? "approve" : "answer", task: 0 }, [taskId]);
    }
  }

  async assertConsistent(taskId: string): Promise<void> {
    const { document, mine } = await this.#snapshot(taskId);
    let status: TaskStatus = "SUBMITTED";
    for (const [n, event] of mine.entries()) {
      assert.ok(!isFinal(status) || terminalEvents.has(event.event), `${event.event} after ${status}`);
      if (event.event !== "task.status_changed") continue;
      assert.equal(event.payload.from, status);
      assert.ok(isAllowed(event.payload.from, event.payload.to), `${status} > ${event.payload.to}`);
      assertNamed(mine.slice(n + 1), event.payload.to);
      status = event.payload.to;
    }
    assert.equal(document.status, status);
    assert.ok(mine.filter(({ event }) => terminalEvents.has(event)).length <= 1, "it ended twice");
    assert.equal(document.outcome !== null, isFinal(document.status));
  }

  /** The task and its own events, read again when it went on in between. */
  async #snapshot(taskId: string): Promise<{ document: TaskRecord; mine: KernelEvent[] }> {
    const query = { taskId, after: 0, limit: 10_000 };
    while (true) {
      const before = await this.#store.events(query);
      // Commits are told in log order: once this one is, so is everything that was read.
      await this.newSession();
      const document = await getRecord(this.kernel, caller, "task", taskId);
      const events = await this.#store.events(query);
      if (events.length !== before.length) continue;
      return { document, mine: events.filter(({ resource }) => resource.id === taskId).map(asKernelEvent) };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** The move is followed by the event that names it, before any other move. */
function assertNamed(rest: readonly KernelEvent[], to: TaskStatus): void {
  const name = namedEvents[to];
  if (name === undefined) return;
  const next = rest.find(({ event }) => event === name || event === "task.status_changed");
  assert.equal(next?.event, name);
}

async function openScene(): Promise<Scene> {
  const directory = await temporaryDirectory();
  const store = await openSqliteStore(directory.path);
  const agents = new AgentRegistry([rehearsal]);
  const kernel = createKernel({
    store,
    clock: systemClock,
    agents,
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  await kernel.dispatch(ensureTenant, caller, { tenantId: defaultTenantId });
  const runtime = await startRuntime({ kernel, agents, logger: pino({ level: "silent" }), concurrency: 3 });
  return new Scene(kernel, async () => {
    await runtime.drain(1000);
    kernel.tail.close();
    await store.close();
    await directory[Symbol.asyncDispose]();
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
