/** Whatever is committed while somebody reads: followers and those who page get everything once, in order. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { echo } from "../src/agents/echo.ts";
import { systemClock } from "../src/kernel/core/clock.ts";
import { followLog, type LogFilter, LogTail } from "../src/kernel/core/log-tail.ts";
import { listRecords, type Page } from "../src/kernel/core/read.ts";
import { listEvents } from "../src/kernel/core/read-events.ts";
import { createKernel, type Kernel } from "../src/kernel/kernel.ts";
import { textPart } from "../src/kernel/kinds/message.ts";
import { Issuer } from "../src/kernel/receipts/signing.ts";
import { appendMessage } from "../src/kernel/sessions/append-message.ts";
import { createSession } from "../src/kernel/sessions/create-session.ts";
import { listMessages } from "../src/kernel/sessions/list-messages.ts";
import { createWorkspace } from "../src/kernel/workspaces/create-workspace.ts";
import { defaultTenantId, ensureTenant } from "../src/kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../src/policy/caller.ts";
import { newSigningKey } from "../src/receipts/keys.ts";
import { AgentRegistry } from "../src/runtime/agents/registry.ts";
import type { Batch, StoredEvent, TenantStore } from "../src/store/port.ts";
import { openSqliteStore } from "../src/store/sqlite/open.ts";
import type { WholeStore } from "../src/store/whole-store.ts";
import { temporaryDirectory } from "./support/server.ts";

interface Opened extends AsyncDisposable {
  store: WholeStore;
}

async function openedStore(): Promise<Opened> {
  const directory = await temporaryDirectory();
  const store = await openSqliteStore(directory.path);
  return {
    store,
    async [Symbol.asyncDispose]() {
      await store.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

describe("following the log", () => {
  test("STO-4 followers starting anywhere at any speed get exactly their events, in order", async () => {
    // Given commits and followers in any interleaving, when each follower starts anywhere and reads at any speed, then
    // it gets exactly its events, in order.
    await using opened = await openedStore();
    const { store } = opened;
    const tail = new LogTail(store);
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(commits, { maxLength: 6 }),
        fc.array(follower, { minLength: 1, maxLength: 3 }),
        fc.array(action, { minLength: 1, maxLength: 25 }),
        async (history, followers, actions) => {
          const scene = new Scene(store, `round-${++round}`);
          await scene.open();
          for (const each of history) await scene.commit(each);
          const readers = followers.map(
            (each) =>
              new Reader(scene.own, tail, { ...scene.topic(each.topic), after: scene.cursor(each.from) }),
          );
          for (const each of actions) await perform(each, scene, readers);
          await scene.settle();
          const last = await scene.end();

          for (const reader of readers) {
            assert.deepEqual(await reader.readThrough(last), scene.expected(reader.filter));
          }
        },
      ),
      { numRuns: 60 },
    );
    tail.close();
  });

  test("STO-4 a slow follower gets thousands of events once, holding at most its buffer", async () => {
    // Given a follower that does not read while thousands of events are committed, when it reads on, then it gets every
    // one once and held at most its buffer.
    await using opened = await openedStore();
    const tail = new LogTail(opened.store);
    const scene = new Scene(opened.store, "overflow");
    await scene.open();
    const reader = new Reader(scene.own, tail, { ...scene.topic("task"), after: 0 });
    reader.allow(1);
    for (const size of [300, 1, 256, 257, 2000, 255]) {
      await scene.commit({ size, mine: true });
      reader.allow(1);
    }
    const last = await scene.end();
    assert.deepEqual(await reader.readThrough(last), scene.expected(reader.filter));
    assert.ok(reader.largestPage <= 256, `a page of ${reader.largestPage} events`);
    tail.close();
  });

  test("STO-4 aborting its signal ends a waiting follower without another event", async () => {
    // Given a follower that waits, when its signal aborts, then it ends without another event.
    await using opened = await openedStore();
    const tail = new LogTail(opened.store);
    const controller = new AbortController();
    const follow = followLog(opened.store.of("nobody"), tail, { after: 0 }, controller.signal);
    const next = follow.next();
    controller.abort();
    assert.deepEqual(await next, { done: true, value: undefined });
    tail.close();
  });
});

interface Commits {
  size: number;
  /** For the task that is followed, or for another one of the same session. */
  mine: boolean;
}

type Action =
  | { do: "commit"; wait: boolean; commits: Commits }
  | { do: "read"; pages: number }
  | { do: "turn" };

/** Mostly a few events, sometimes far more than a follower's buffer holds. */
const commits: fc.Arbitrary<Commits> = fc.record({
  size: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 8 }) },
    { weight: 1, arbitrary: fc.constantFrom(199, 200, 201, 255, 256, 257, 400, 700) },
  ),
  mine: fc.boolean(),
});

const follower = fc.record({
  topic: fc.constantFrom("task" as const, "workspace" as const, "session" as const, "tenant" as const),
  from: fc.double({ min: 0, max: 1, noNaN: true }),
});

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant("commit" as const), wait: fc.boolean(), commits }),
  fc.record({ do: fc.constant("read" as const), pages: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ do: fc.constant("turn" as const) }),
);

async function perform(action: Action, scene: Scene, readers: readonly Reader[]): Promise<void> {
  switch (action.do) {
    case "commit": {
      const committed = scene.commit(action.commits);
      if (action.wait) await committed;
      return;
    }
    case "read":
      for (const reader of readers) reader.allow(action.pages);
      return;
    case "turn":
      await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The id of the task that is followed, and of its workspace. */
function mineOf(name: string): string {
  return `${name}-mine`;
}

/** Two tasks, each in a workspace of its own, of one session of one tenant, and everything that was committed about them. */
class Scene {
  readonly #store: WholeStore;
  readonly #name: string;
  readonly #events: StoredEvent[] = [];
  readonly #underWay: Promise<unknown>[] = [];
  #start = 0;

  constructor(store: WholeStore, name: string) {
    this.#store = store;
    this.#name = name;
  }

  async open(): Promise<void> {
    this.#start = await this.#store.head();
    await this.#commit({
      put: [{ kind: "thing", id: this.#name, index: { tenantId: this.#name }, body: {} }],
    });
  }

  get own(): TenantStore {
    return this.#store.of(this.#name);
  }

  topic(kind: "task" | "workspace" | "session" | "tenant"): Omit<LogFilter, "after"> {
    const name = this.#name;
    if (kind === "task") return { taskId: mineOf(name) };
    if (kind === "workspace") return { workspaceIds: [mineOf(name)] };
    return kind === "session" ? { sessionId: name } : {};
  }

  /** A position between the start of the scene and the end of the log so far. */
  cursor(fraction: number): number {
    const last = this.#events.at(-1)?.position ?? this.#start;
    return this.#start + Math.floor((last - this.#start) * fraction);
  }

  commit({ size, mine }: Commits): Promise<void> {
    const taskId = mine ? mineOf(this.#name) : `${this.#name}-other`;
    const committed = this.#commit({ events: Array.from({ length: size }, () => this.#event(taskId)) });
    this.#underWay.push(committed);
    return committed;
  }

  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** One last event that every follower hears; gives its position. */
  async end(): Promise<number> {
    await this.commit({ size: 1, mine: true });
    return Math.max(...this.#events.map((event) => event.position));
  }

  expected({ after, taskId, workspaceIds }: LogFilter): number[] {
    const onlyMine = taskId !== undefined || workspaceIds !== undefined;
    return this.#events
      .filter((event) => event.position > after && (!onlyMine || event.taskId === mineOf(this.#name)))
      .map((event) => event.position)
      .toSorted((a, b) => a - b);
  }

  async #commit(parts: Partial<Batch>): Promise<void> {
    this.#events.push(
      ...(await this.#store.commit({ expect: [], events: [], put: [], blobs: [], ...parts })),
    );
  }

  #event(taskId: string): Batch["events"][number] {
    return {
      event: "noticed",
      resource: { object: "thing", id: this.#name },
      tenantId: this.#name,
      workspaceId: taskId,
      sessionId: this.#name,
      taskId,
      actor: null,
      createdAt: "2026-01-01T00:00:00.000Z",
      payload: {},
    };
  }
}

/** Follows the log, one page for each time it is allowed to. */
class Reader {
  readonly filter: LogFilter;
  largestPage = 0;
  readonly #positions: number[] = [];
  readonly #controller = new AbortController();
  readonly #done: Promise<void>;
  #through = Number.POSITIVE_INFINITY;
  #allowed = 0;
  #go: () => void = () => {};

  constructor(store: TenantStore, tail: LogTail, filter: LogFilter) {
    this.filter = filter;
    this.#done = this.#read(followLog(store, tail, filter, this.#controller.signal));
  }

  allow(pages: number): void {
    this.#allowed += pages;
    this.#go();
  }

  /** Reads on without pause up to a position and gives all positions it ever got. */
  async readThrough(position: number): Promise<number[]> {
    this.#through = position;
    this.allow(Number.POSITIVE_INFINITY);
    if (this.#positions.at(-1) === position) this.#controller.abort();
    await this.#done;
    return this.#positions;
  }

  async #read(pages: AsyncGenerator<StoredEvent[]>): Promise<void> {
    for await (const page of pages) {
      this.largestPage = Math.max(this.largestPage, page.length);
      this.#positions.push(...page.map((event) => event.position));
      if ((this.#positions.at(-1) ?? 0) >= this.#through) return;
      while (this.#allowed <= 0) {
        await new Promise<void>((resolve) => {
          this.#go = resolve;
        });
      }
      this.#allowed -= 1;
    }
  }
}

describe("walking lists while they grow", () => {
  test("RES-5 paging returns each existing session once, newest first, despite new ones", async () => {
    // Given any number of sessions and any page size, when more are created during the walk, then each that was there is
    // given exactly once, newest first.
    await using opened = await openedKernel();
    const { kernel } = opened;
    await fc.assert(
      fc.asyncProperty(walkPlan, async ({ existing, limit, inserts }) => {
        const { result: workspace } = await kernel.dispatch(createWorkspace, caller, {
          name: "w",
          root: ".",
        });
        const create = async () =>
          (await kernel.dispatch(createSession, caller, { workspaceId: workspace.id })).result.id;
        const before = await repeat(existing, create);
        const given = await walk(
          (cursor) => listRecords(kernel, caller, "session", { workspaceId: workspace.id, cursor, limit }),
          { limit, inserts, insert: create },
        );
        const ids = given.map((session) => session.id);

        assert.equal(new Set(ids).size, ids.length, "a session was given twice");
        const known = new Set(before);
        assert.deepEqual(
          ids.filter((id) => known.has(id)),
          before.toReversed(),
        );
      }),
      { numRuns: 40 },
    );
  });

  test("RES-5 SES-2 paging returns each message once, oldest first, despite appends", async () => {
    // Given any number of messages and any page size, when more are appended during the walk, then all are given once,
    // oldest first.
    await using opened = await openedKernel();
    const { kernel } = opened;
    await fc.assert(
      fc.asyncProperty(walkPlan, async ({ existing, limit, inserts }) => {
        const sessionId = await newSession(kernel);
        let count = 0;
        const append = async () => {
          const message = { role: "user" as const, parts: [textPart(`message ${++count}`)] };
          return (await kernel.dispatch(appendMessage, caller, { sessionId, message })).result.id;
        };
        const before = await repeat(existing, append);
        const given = await walk((cursor) => listMessages(kernel, caller, { sessionId, cursor, limit }), {
          limit,
          inserts,
          insert: append,
        });
        const all = await listMessages(kernel, caller, { sessionId, limit: 1000 });
        const ids = given.map((message) => message.id);

        assert.deepEqual(ids.slice(0, existing), before);
        assert.deepEqual(
          ids,
          all.data.slice(0, ids.length).map((message) => message.id),
        );
      }),
      { numRuns: 40 },
    );
  });

  test("RES-5 EVT-4 paging returns each event once, in log order, despite new ones", async () => {
    // Given any number of events and any page size, when more happen during the walk, then all are given once, in log
    // order.
    await using opened = await openedKernel();
    const { kernel } = opened;
    await fc.assert(
      fc.asyncProperty(walkPlan, async ({ existing, limit, inserts }) => {
        const sessionId = await newSession(kernel);
        const message = { role: "user" as const, parts: [textPart("hello")] };
        const append = async () =>
          (await kernel.dispatch(appendMessage, caller, { sessionId, message })).result.id;
        await repeat(existing, append);
        const read = (afterEventId: string | undefined, pageSize: number) =>
          listEvents(kernel, caller, { sessionId, afterEventId, limit: pageSize });
        const start = await read(undefined, 1000);
        const given = await walk((cursor) => read(cursor, limit), { limit, inserts, insert: append });
        const all = await read(undefined, 1000);

        assert.ok(given.length >= start.data.length);
        assert.deepEqual(given, all.data.slice(0, given.length));
      }),
      { numRuns: 30 },
    );
  });
});

const caller = systemCaller(defaultTenantId);

const walkPlan = fc.record({
  existing: fc.integer({ min: 0, max: 30 }),
  limit: fc.integer({ min: 1, max: 12 }),
  /** How many are added while each page is read. */
  inserts: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 8 }),
});

async function openedKernel(): Promise<{ kernel: Kernel } & AsyncDisposable> {
  const opened = await openedStore();
  const kernel = createKernel({
    store: opened.store,
    clock: systemClock,
    agents: new AgentRegistry([echo]),
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  await kernel.dispatch(ensureTenant, caller, { tenantId: defaultTenantId });
  return { kernel, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

async function newSession(kernel: Kernel): Promise<string> {
  return (await kernel.dispatch(createSession, caller, { workspaceId: "workspace_default" })).result.id;
}

async function repeat<T>(times: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let n = 0; n < times; n++) made.push(await make());
  return made;
}

/** Every item of a list, page by page, while others are added beside. */
async function walk<T>(
  read: (cursor: string | undefined) => Promise<Page<T>>,
  { limit, inserts, insert }: { limit: number; inserts: readonly number[]; insert: () => Promise<unknown> },
): Promise<T[]> {
  const given: T[] = [];
  let cursor: string | undefined;
  for (let pages = 0; ; pages++) {
    const added = Promise.all(Array.from({ length: inserts[pages] ?? 0 }, insert));
    const page = await read(cursor);
    await added;
    assert.ok(page.data.length <= limit, `${page.data.length} items on a page of ${limit}`);
    given.push(...page.data);
    if (page.nextCursor === null) return given;
    cursor = page.nextCursor;
  }
}
