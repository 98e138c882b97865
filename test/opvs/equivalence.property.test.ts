/** The bindings are one protocol: whatever is done over one of them has the same results over the others. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { Client, type Json, until } from "../support/client.ts";
import { everyBinding, type Outcome, type Served, type Wire, type WireFailure } from "./wire.ts";

/** What the agent does, up to where it waits or ends by itself. */
const scripts = [
  "say hello\nreturn done",
  "artifact a.txt text\nstream 2\nreturn 7",
  "ask Which?\nsay Thanks",
  "ask One?\nask Two?",
  "fail badly",
  "reject this",
  "nonsense",
];
/** These go on waiting while a stream of them is open. */
const approving = "approve it";
const sleeping = "sleep 3600000";

type Step =
  | { kind: "send" | "stream"; script: string; context: number | null; historyLength: number | null }
  | { kind: "start"; script: string }
  | { kind: "continue"; task: number; text: string; withContext: boolean }
  | { kind: "get"; task: number; historyLength: number | null }
  | { kind: "list"; filter: Json }
  | { kind: "cancel"; task: number; metadata: Json }
  | { kind: "subscribe"; task: number }
  | { kind: "wrong"; operation: string; request: Json };

const task = fc.integer({ min: -1, max: 4 });
const historyLength = fc.constantFrom(null, 0, 1, 2, -1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("send" as const, "stream" as const),
      script: fc.constantFrom(...scripts),
      context: fc.option(fc.nat(1)),
      historyLength,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("start" as const),
      script: fc.constantFrom(sleeping, approving, ...scripts),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("continue" as const),
      task,
      text: fc.constantFrom("yes", "42"),
      withContext: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("get" as const), task, historyLength }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("list" as const),
      filter: fc.record(
        {
          contextId: fc.constantFrom("context-0", "context-1", "nowhere"),
          status: fc.constantFrom(
            "TASK_STATE_COMPLETED",
            "TASK_STATE_INPUT_REQUIRED",
            "TASK_STATE_REJECTED",
            "TASK_STATE_FAILED",
          ),
          pageSize: fc.constantFrom(1, 2, 100, 0, 101),
          historyLength: fc.constantFrom(0, 1, 5, -1),
          includeArtifacts: fc.boolean(),
          statusTimestampAfter: fc.constantFrom("2026-01-01T00:00:00Z", "2999-01-01T00:00:00.5Z"),
          pageToken: fc.constantFrom("", "garbage"),
        },
        { requiredKeys: [] },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cancel" as const),
      task,
      metadata: fc.constantFrom({}, { reason: "enough" }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("subscribe" as const), task }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>(
      { kind: "wrong", operation: "SendMessage", request: {} },
      {
        kind: "wrong",
        operation: "SendMessage",
        request: { message: { messageId: "m", role: "ROLE_USER", parts: [{}] } },
      },
      {
        kind: "wrong",
        operation: "SendMessage",
        request: { message: { messageId: "m", role: "ROLE_USER", parts: [{ raw: "AA==" }] } },
      },
      { kind: "wrong", operation: "ListTasks", request: { tenant: "tenant_elsewhere" } },
    ),
  },
);

/** One client's way through the steps over one binding, in a tenant of its own. */
class Walk {
  readonly #wire: Wire;
  readonly #key: string;
  readonly #tasks: Json[] = [];
  readonly #sleepers = new Set<number>();
  readonly #names = new Map<string, string>();
  #count = 0;

  constructor(wire: Wire, key: string) {
    this.#wire = wire;
    this.#key = key;
  }

  async take(each: Step): Promise<Json> {
    return this.#plain(await this.#perform(each));
  }

  async #perform(each: Step): Promise<Json> {
    switch (each.kind) {
      case "send":
        return this.#sent(await this.#call("SendMessage", this.#begin(each)));
      case "stream":
        return this.#streamed(await this.#stream("SendStreamingMessage", this.#begin(each)));
      case "start":
        return await this.#start(each.script);
      case "continue":
        return said(await this.#call("SendMessage", this.#goOn(each)));
      case "get":
        return said(await this.#call("GetTask", { id: this.#id(each.task), ...length(each.historyLength) }));
      case "list":
        return await this.#pages(each.filter);
      case "cancel":
        return said(await this.#call("CancelTask", { id: this.#id(each.task), metadata: each.metadata }));
      case "subscribe":
        return await this.#subscribe(this.#id(each.task));
      case "wrong":
        return said(await this.#call(each.operation, each.request));
    }
  }

  #message(text: string, more: Json = {}): Json {
    return { messageId: `m-${++this.#count}`, role: "ROLE_USER", parts: [{ text }], ...more };
  }

  #begin({ script, context, historyLength }: Step & { kind: "send" | "stream" }): Json {
    const inContext = context === null ? {} : { contextId: `context-${context}` };
    return { message: this.#message(script, inContext), configuration: length(historyLength) };
  }

  #goOn({ task: index, text, withContext }: Step & { kind: "continue" }): Json {
    const contextId = withContext ? { contextId: this.#tasks[index]?.contextId ?? "context-0" } : {};
    const message = this.#message(text, { taskId: this.#id(index), ...contextId });
    // Who waits for one that sleeps waits for as long.
    return { message, configuration: { returnImmediately: this.#sleepers.has(index) } };
  }

  #sent(outcome: Outcome): Json {
    if (outcome.result !== undefined) this.#tasks.push(outcome.result.task);
    return said(outcome);
  }

  #streamed(events: Json): Json {
    if (Array.isArray(events)) this.#tasks.push(events[0].task);
    return events;
  }

  /** What the answer shows of a task that just began is a matter of luck; where it gets to is not. */
  async #start(script: string): Promise<Json> {
    const request = { message: this.#message(script), configuration: { returnImmediately: true } };
    const { result } = await this.#call("SendMessage", request);
    if (script === sleeping) this.#sleepers.add(this.#tasks.length);
    this.#tasks.push(result.task);
    const expected = script === sleeping ? ["TASK_STATE_WORKING"] : settled;
    return await until(
      async () => (await this.#call("GetTask", { id: result.task.id })).result,
      ({ status }) => expected.includes(status.state),
    );
  }

  async #pages(filter: Json): Promise<Json> {
    const tasks: Json[] = [];
    let pageToken: string | undefined = filter.pageToken;
    do {
      const outcome = await this.#call("ListTasks", { ...filter, ...(pageToken ? { pageToken } : {}) });
      if (outcome.error !== undefined) return said(outcome);
      const { tasks: page, nextPageToken, ...counts } = outcome.result;
      tasks.push(...page, counts);
      pageToken = nextPageToken;
    } while (pageToken !== "");
    return tasks;
  }

  /** Follows it to its end, which is brought about. */
  async #subscribe(id: string): Promise<Json> {
    await using stream = await this.#wire.stream("SubscribeToTask", { id }, this.#options);
    if (stream.error !== null) return failure(stream.error);
    const first = await stream.next();
    const canceled = said(await this.#call("CancelTask", { id }));
    return [first, canceled, ...(await stream.rest())];
  }

  async #stream(operation: string, request: Json): Promise<Json> {
    await using stream = await this.#wire.stream(operation, request, this.#options);
    return stream.error === null ? await stream.rest() : failure(stream.error);
  }

  #call(operation: string, request: Json): Promise<Outcome> {
    return this.#wire.call(operation, request, this.#options);
  }

  get #options(): { key: string; agent: string } {
    return { key: this.#key, agent: "rehearsal" };
  }

  #id(index: number): string {
    return this.#tasks[index]?.id ?? "task_unknown";
  }

  /** Ids by the order in which they were first seen, times as such. */
  #plain(json: Json): Json {
    const text = JSON.stringify(json)
      .replaceAll(/\b[a-z]+(?:_[a-z]+)*_01[0-9A-Z]{24}/g, (id) => {
        const name = this.#names.get(id) ?? `#${this.#names.size}`;
        this.#names.set(id, name);
        return name;
      })
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "a time");
    return JSON.parse(text);
  }
}

const settled = ["COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"].map(
  (name) => `TASK_STATE_${name}`,
);

function length(given: number | null): Json {
  return given === null ? {} : { historyLength: given };
}

function said({ result, error }: Outcome): Json {
  return error === undefined ? result : failure(error);
}

/** Everything but the number, of which each binding has its own. */
function failure({ status, reason, message, details }: WireFailure): Json {
  return { status, reason, message, details };
}

let walks = 0;
async function walkOver(wire: Wire, { server }: Served): Promise<Walk> {
  const tenant_id = `tenant_walk-${++walks}`;
  return new Walk(wire, (await new Client(server).createKey({ tenant_id })).key);
}

everyBinding("equivalence", (onEveryBinding) => {
  onEveryBinding(
    "OPVS-98 OPVS-100 OPVS-101 OPVS-102 all calls agree with the first binding",
    async (wire, served) => {
      // Given any operations in any order, when they are called over this binding and over the first, then all results
      // and errors are the same.
      const [first = wire] = served.wires;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
          const walk = await walkOver(wire, served);
          const other = await walkOver(first, served);
          for (const each of steps)
            assert.deepEqual(await walk.take(each), await other.take(each), JSON.stringify(each));
        }),
        { numRuns: wire === first ? 4 : 12 },
      );
    },
  );
});
