/**
 * Events as they stand in a row of the log: each as [name, object, resource id, payload] or, if its payload is like a pattern, as
 * [index of the pattern, resource id, differences …]. Differences come in pairs, the number of a node of the pattern and the value in its
 * place, in ascending order. Nodes are numbered as they are written, each before what is in it, so a value may replace everything below.
 */

import { type PayloadPattern, payloadPatterns } from "./payload-patterns.ts";
import type { NewEvent } from "./port.ts";

/** With a fifth item for a replayed event, where it is from, and a sixth for an imported one, who brought it. */
export type LogEntry = [
  event: string,
  object: string,
  id: string,
  payload: object,
  replay?: object | null,
  imported?: object,
];

type CompactEntry = [pattern: number, id: string, ...differences: unknown[]];

/** What an event has in common with those beside it. */
export type Shared = Pick<
  NewEvent,
  "tenantId" | "workspaceId" | "sessionId" | "taskId" | "actor" | "createdAt"
>;

interface Given extends Shared {
  id: string;
  /** Values that are referred to further on, by the numbers of their nodes. */
  earlier: Map<number, unknown>;
}

interface At {
  number: number;
  /** Whether another node refers to it. */
  isReferredTo: boolean;
}

type Node = At &
  (
    | { kind: "constant"; value: null | boolean | number | string }
    | { kind: "column"; column: "id" | keyof Shared }
    | { kind: "task"; before: string; after: string }
    | { kind: "earlier"; of: number }
    | { kind: "members"; names: string[]; nodes: Node[] }
    | { kind: "items"; nodes: Node[] }
  );

const columns: Record<string, "id" | keyof Shared> = {
  id: "id",
  tenant: "tenantId",
  workspace: "workspaceId",
  session: "sessionId",
  task: "taskId",
  actor: "actor",
  at: "createdAt",
};

/** Makes the nodes of a pattern. */
class Compiler {
  readonly #byPath = new Map<string, Node>();

  compile(value: PayloadPattern["payload"][string], path: string): Node {
    const at = { number: this.#byPath.size, isReferredTo: false };
    const node = this.#nodeOf(value, at);
    this.#byPath.set(path, node);
    if (typeof value !== "object" || value === null) return node;
    const below = path === "" ? "" : `${path}.`;
    if (node.kind === "members" || node.kind === "items")
      for (const [name, one] of Object.entries(value)) node.nodes.push(this.compile(one, `${below}${name}`));
    return node;
  }

  #nodeOf(value: PayloadPattern["payload"][string], at: At): Node {
    if (Array.isArray(value)) return { ...at, kind: "items", nodes: [] };
    if (typeof value === "object" && value !== null)
      return { ...at, kind: "members", names: Object.keys(value), nodes: [] };
    if (typeof value !== "string") return { ...at, kind: "constant", value };
    const [, before = "", name = "", after = ""] = /^(.*)\{(.+)\}(.*)$/.exec(value) ?? [];
    if (name === "") return { ...at, kind: "constant", value };
    if (name.startsWith("=")) return { ...at, kind: "earlier", of: this.#referTo(name.slice(1)) };
    const column = columns[name];
    if (column === undefined) throw new Error(`A pattern has nothing that is called ${name}`);
    return before + after === "" ? { ...at, kind: "column", column } : { ...at, kind: "task", before, after };
  }

  #referTo(path: string): number {
    const node = this.#byPath.get(path);
    if (node === undefined) throw new Error(`A pattern has no ${path} before it is referred to`);
    node.isReferredTo = true;
    return node.number;
  }
}

const compiled = payloadPatterns.map(({ event, object, payload }, index) => ({
  ...{ event, object, index },
  root: new Compiler().compile(payload, ""),
}));
/** The last one of an event. */
const byEvent = new Map(compiled.map((pattern) => [pattern.event, pattern]));

/** An event as its row has it: the shorter form where there is one. */
export function entryOf(from: NewEvent): LogEntry | CompactEntry {
  const { event, resource, payload, replay, imported } = from;
  if (imported !== undefined) return [event, resource.object, resource.id, payload, replay ?? null, imported];
  if (replay !== undefined) return [event, resource.object, resource.id, payload, replay];
  const pattern = byEvent.get(event);
  if (pattern !== undefined && pattern.object === resource.object) {
    const entry: CompactEntry = [pattern.index, resource.id];
    if (compare(pattern.root, payload, givenOf(from, resource.id), entry)) return entry;
  }
  return [event, resource.object, resource.id, payload];
}

/** The whole events of a row, from its JSON. */
export function parseEntries(text: string, shared: Shared): LogEntry[] {
  const entries: (LogEntry | CompactEntry)[] = JSON.parse(text);
  return entries.map((entry) => (isCompact(entry) ? wholeOf(entry, shared) : entry));
}

function isCompact(entry: LogEntry | CompactEntry): entry is CompactEntry {
  return typeof entry[0] === "number";
}

function wholeOf([index, id, ...differences]: CompactEntry, shared: Shared): LogEntry {
  const pattern = compiled[index];
  if (pattern === undefined) throw new Error(`This Bridle does not know the payload pattern ${index}`);
  const payload = new Restorer(givenOf(shared, id), differences).restore(pattern.root);
  return [pattern.event, pattern.object, id, payload as object];
}

function givenOf(shared: Shared, id: string): Given {
  const { tenantId, workspaceId, sessionId, taskId, actor, createdAt } = shared;
  return { id, tenantId, workspaceId, sessionId, taskId, actor, createdAt, earlier: new Map() };
}

/** What stands at a node where nothing else is said; nothing for what has nodes of its own. */
function expected(node: Node, given: Given): unknown {
  switch (node.kind) {
    case "constant":
      return node.value;
    case "column":
      return given[node.column];
    case "task":
      return `${node.before}${given.taskId}${node.after}`;
    case "earlier":
      return given.earlier.get(node.of);
    default:
      return undefined;
  }
}

/** Adds where a value differs from a node. False if the differences cannot say it. */
function compare(node: Node, value: unknown, given: Given, differences: unknown[]): boolean {
  if (node.kind === "members" && hasMembers(value, node.names)) {
    let index = 0;
    for (const below of node.nodes) {
      if (!compare(below, value[node.names[index] ?? ""], given, differences)) return false;
      index += 1;
    }
    return true;
  }
  if (node.kind === "items" && Array.isArray(value) && value.length === node.nodes.length) {
    let index = 0;
    for (const below of node.nodes) {
      if (!compare(below, value[index], given, differences)) return false;
      index += 1;
    }
    return true;
  }
  if (node.isReferredTo) given.earlier.set(node.number, value);
  if (value === expected(node, given) && value !== undefined) return true;
  // In an array these would become null.
  if (value === undefined || typeof value === "function" || typeof value === "symbol") return false;
  // Not worth it: the payload is of another form.
  if (node.number === 0) return false;
  differences.push(node.number, value);
  return true;
}

/** Whether a value is an object with these members in this order, as JSON would have it. */
function hasMembers(value: unknown, names: readonly string[]): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || value.constructor !== Object) return false;
  let count = 0;
  for (const name in value) {
    if (name !== names[count]) return false;
    count += 1;
  }
  return count === names.length;
}

/** Makes a payload from a pattern and what differs. */
class Restorer {
  readonly #given: Given;
  readonly #differences: readonly unknown[];
  #next = 0;

  constructor(given: Given, differences: readonly unknown[]) {
    this.#given = given;
    this.#differences = differences;
  }

  restore(node: Node): unknown {
    const value = this.#valueAt(node);
    if (node.isReferredTo) this.#given.earlier.set(node.number, value);
    return value;
  }

  #valueAt(node: Node): unknown {
    if (this.#differences[this.#next] === node.number) {
      this.#next += 2;
      return this.#differences[this.#next - 1];
    }
    if (node.kind === "items") return node.nodes.map((below) => this.restore(below));
    if (node.kind !== "members") return expected(node, this.#given);
    const value: Record<string, unknown> = {};
    let index = 0;
    for (const below of node.nodes) {
      value[node.names[index] ?? ""] = this.restore(below);
      index += 1;
    }
    return value;
  }
}
