/**
 * Running an exported log again without a server: against the code that is at hand, from memory, leaving nothing behind.
 * What `bridle check` does before a deployment, and a test does with a fixture.
 */

import { readFile } from "node:fs/promises";
import { systemClock } from "../../kernel/core/clock.ts";
import { asKernelEvent, type KernelEvent } from "../../kernel/core/events.ts";
import { type AnyRecord, changed, created } from "../../kernel/core/fold.ts";
import { createKernel } from "../../kernel/kernel.ts";
import type { Failure } from "../../kernel/kinds/outcome.ts";
import type { ReplayPlan } from "../../kernel/kinds/replay.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { Issuer } from "../../kernel/receipts/signing.ts";
import { type LogBundle, parseLogBundle } from "../../kernel/sessions/transfer/bundle.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import type { NewEvent, StoredEvent, TenantStore } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { builtInTools } from "../../tools/builtin/index.ts";
import type { AnyTool } from "../../tools/tool.ts";
import type { Agent, AgentContext } from "../agents/agent.ts";
import { AgentRegistry } from "../agents/registry.ts";
import { emptyWorld } from "../world.ts";
import { executeReplay } from "./execute-replay.ts";
import { Journal } from "./journal.ts";
import { isTold } from "./open-replay.ts";
import { endedByItself, type ReplayOptions, ReplayRecording } from "./replay-recording.ts";
import { Run } from "./run.ts";

export interface HistoryReport {
  taskId: string;
  agent: string;
  /** `unfinished`: as far as the log goes it is the same. */
  outcome: "same" | "unfinished" | "diverged";
  failure: Failure | null;
}

const replayId = "task_history";

export interface HistoryOptions {
  /** Tools of the server that the agent finds by name, beside those that come along. None of them is called. */
  tools?: readonly AnyTool<AgentContext>[];
}

/** Runs the one task of a bundle with this agent's code. */
export async function replayHistory(
  agent: Agent,
  bundle: LogBundle,
  { tools = [] }: HistoryOptions = {},
): Promise<HistoryReport> {
  const emitted: NewEvent[] = [];
  const events = bundle.events.map(asKernelEvent);
  const records = fold(events);
  const source = sourceOf(bundle, records);
  const plan: ReplayPlan = {
    source_task_id: source.id,
    mode: "exact",
    substitutions: { inline: {} },
    secret_overrides: {},
    checkpoint: null,
    allow_live: [],
    reason: null,
    segment: "history",
  };
  const task: TaskRecord = {
    ...source,
    id: replayId,
    status: "WORKING",
    outcome: null,
    pending: null,
    parked: null,
    host_calls: [],
    replay: plan,
    policy: { ...source.policy, receipt_policy: "disabled" },
    quota_ids: [],
  };
  records.set(task.id, task);
  const store = historyStore(bundle, records, (events) => emitted.push(...events.filter(isEnd)));
  const kernel = createKernel({
    store,
    clock: systemClock,
    agents: new AgentRegistry([agent]),
    issuer: new Issuer(newSigningKey().key, () => {}),
  });
  const mcp = { ...emptyWorld.mcp, servers: mcpServersIn(events) };
  const options: ReplayOptions = {
    journal: await Journal.of(store.of(source.tenant_id), source.id, isTold),
    source,
    plan,
    substitutions: {},
    secrets: "stand_in",
    before: { emitted: 0, own: new Map() },
  };
  const run = new Run({
    kernel,
    world: { ...emptyWorld, mcp, tools: [...builtInTools, ...tools] },
    task,
    recording: (run) => new ReplayRecording(run, options),
    agentName: agent.name,
    isDraining: () => false,
  });
  await executeReplay(run, agent);
  return report(source, emitted.map(asKernelEvent));
}

/** Replays a fixture and throws if the agent's code no longer does what it did when the fixture was made. */
export async function replayFixture(
  agent: Agent,
  file: string | URL,
  options: HistoryOptions = {},
): Promise<void> {
  const bundle = parseLogBundle(await readFile(file, "utf8"));
  const { outcome, failure, taskId } = await replayHistory(agent, bundle, options);
  if (outcome !== "diverged") return;
  throw new Error(
    `${agent.name}@${agent.version} does not repeat ${taskId}: ${failure?.message ?? "unknown"}`,
  );
}

/** Those that were there then: what their tools are is in the log, `mcp:<server>:tools/list:<n>`. */
function mcpServersIn(events: readonly KernelEvent[]): string[] {
  const steps = events.flatMap(({ payload }) => ("step" in payload ? [String(payload.step)] : []));
  return [...new Set(steps.flatMap((step) => /^mcp:([^:]+):/.exec(step)?.[1] ?? []))];
}

function isEnd({ event }: NewEvent): boolean {
  return event === "replay.failed" || event === "replay.completed";
}

function report(source: TaskRecord, [end]: KernelEvent[]): HistoryReport {
  const { id: taskId, agent, assigned_agent_id } = source;
  const base = { taskId, agent: assigned_agent_id ?? agent.name };
  if (end?.event !== "replay.failed") return { ...base, outcome: "same", failure: null };
  const { failure } = end.payload;
  const isOver = !endedByItself(source) && failure.code === "replay_dependency_unavailable";
  return { ...base, outcome: isOver ? "unfinished" : "diverged", failure };
}

function fold(events: readonly KernelEvent[]): Map<string, AnyRecord> {
  const records = new Map<string, AnyRecord>();
  for (const event of events) {
    for (const record of created(event)) records.set(record.id, record);
    const current = records.get(event.resource.id);
    if (current !== undefined) records.set(current.id, changed(current, event));
  }
  return records;
}

function sourceOf({ header }: LogBundle, records: ReadonlyMap<string, AnyRecord>): TaskRecord {
  const source = header.task_id === null ? undefined : records.get(header.task_id);
  if (source?.object === "task") return source;
  throw new Error("The file is not the log of one task; make it with `bridle replay TASK --fixture FILE`.");
}

/** Reads from the bundle; what is written is shown to the listener and forgotten. */
function historyStore(
  { events, blobs }: LogBundle,
  records: ReadonlyMap<string, AnyRecord>,
  onCommit: (events: readonly NewEvent[]) => void,
): WholeStore {
  const stored: StoredEvent[] = events.map((event, index) => ({
    ...event,
    position: index + 1,
    sequence: 0,
    previous: null,
  }));
  const contents = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  const get: TenantStore["get"] = async (kind, id) => {
    const record = records.get(id);
    if (record?.object !== kind) return undefined;
    return { kind, id, tenantId: record.tenant_id, version: 1, born: 0, body: record };
  };
  const eventsOf: TenantStore["events"] = async ({ taskId, after, limit }) =>
    stored
      .slice(after)
      .filter((event) => event.taskId === taskId)
      .slice(0, limit);
  return {
    of: (tenantId) => ({
      tenantId,
      get,
      known: () => undefined,
      getMany: async (keys) => await Promise.all(keys.map(({ kind, id }) => get(kind, id))),
      proposed: () => undefined,
      proposedEvents: () => undefined,
      list: async () => [],
      ranked: async () => ({ documents: [], total: 0 }),
      search: async () => [],
      count: async () => 0,
      events: eventsOf,
      storedBytes: async () => ({ log: 0, blobs: 0 }),
      blob: async (sha256) => contents.get(sha256),
      openBlob: async () => undefined,
    }),
    async commit(batch) {
      onCommit(batch.events);
      return [];
    },
    get,
    list: async () => [],
    due: async () => [],
    documents: async () => [],
    cursor: async () => 0,
    tenantIds: async () => [],
    events: eventsOf,
    stageBlob: () => Promise.reject(new Error("A history takes no content")),
    once: async () => undefined,
    forgetOnce: async () => 0,
    onceWith: async () => [],
    dropBlobs: async ({ sha256s }) => ({ kept: sha256s, count: 0, bytes: 0 }),
    scrub: async () => {},
    head: async () => stored.length,
    writeFault: () => null,
    readFault: () => null,
    shortage: () => null,
    follow: () => () => {},
    close: async () => {},
  };
}
