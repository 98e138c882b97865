/**
 * A run as its shell is told of it: the fold of the task's events. What was said since the last response is told once;
 * what is open (a directive, a question, an approval) is told with every response until it is closed.
 *
 * The same events give the same view, so a response can be made again from the log whenever it is asked for.
 */

import { mayHost } from "../../../kernel/access/host-access.ts";
import { unsealShown } from "../../../kernel/core/content.ts";
import { eventId, type RecordedEvent } from "../../../kernel/core/events.ts";
import { changed } from "../../../kernel/core/fold.ts";
import type { ArtifactRecord } from "../../../kernel/kinds/artifact.ts";
import type { PermissionRequestRecord } from "../../../kernel/kinds/permission-request.ts";
import { demandsHarp } from "../../../kernel/kinds/persona.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { questionIdOf } from "../../../kernel/openharness/accept-turn.ts";
import { shellPrefix } from "../../../kernel/tasks/host-calls.ts";
import { isFinal } from "../../../kernel/tasks/lifecycle.ts";
import { type Caller, mayUse } from "../../../policy/caller.ts";
import type { JsonObject, JsonValue, Position, TenantStore } from "../../../store/port.ts";
import { negotiate } from "../capabilities.ts";
import type { ActionDirective } from "../wire.ts";
import {
  approvalDirective,
  artifactDirective,
  type Granted,
  givenDirective,
  isAnswerable,
  messageDirective,
  type Progress,
  questionDirective,
  workingDirectives,
} from "./directives.ts";

/** Something to tell: made when it is told, as content may have to be read. */
export interface Item {
  position: Position;
  directive(): Promise<ActionDirective | null>;
}

/** What one response tells of what was said; a run that says more is continued. */
const saidMax = 500;

export type Told = { item: Item } | { progress: Progress };

/** Whether the engine answers now, in a moment when nothing else comes, or goes on waiting. */
export type Rest = "now" | "soon" | "no";

export class RunView {
  readonly #store: TenantStore;
  readonly #caller: Caller;
  /** Everything up to here was told before. */
  readonly #after: Position;
  #task: TaskRecord;
  #position: Position = 0;
  #turn = 0;
  #asked: readonly string[] = [];
  readonly #said: Item[] = [];
  /** Directives that wait for their outcome, by step. */
  readonly #calls = new Map<string, Item & { id: string }>();
  readonly #permissions = new Map<string, PermissionRequestRecord>();
  readonly #artifacts = new Map<string, ArtifactRecord>();
  #pending: Item | null = null;
  #progress: Progress | null = null;

  constructor(
    task: TaskRecord,
    { store, caller, after }: { store: TenantStore; caller: Caller; after: Position },
  ) {
    this.#task = task;
    this.#store = store;
    this.#caller = caller;
    this.#after = after;
  }

  get task(): TaskRecord {
    return this.#task;
  }

  get position(): Position {
    return this.#position;
  }

  get turn(): number {
    return this.#turn;
  }

  get isOver(): boolean {
    return isFinal(this.#task.status) && this.#task.outcome !== null;
  }

  /** What the shell can show, as of its last request. */
  get granted(): Granted {
    return negotiate(this.#asked, this.#caller).granted;
  }

  get asked(): readonly string[] {
    return this.#asked;
  }

  /** The ids of the directives whose outcome is waited for. */
  get openCalls(): string[] {
    return [...this.#calls.values()].map(({ id }) => id);
  }

  /** The step of the question that is open. */
  get question(): string | null {
    const { pending } = this.#task;
    return pending?.kind === "input" ? pending.step : null;
  }

  /** What is open, in the order in which it was asked. */
  get open(): Item[] {
    const items: Item[] = [...this.#calls.values(), ...(this.#pending === null ? [] : [this.#pending])];
    return items.sort((one, other) => one.position - other.position);
  }

  /** Up to where one response can tell it. */
  get through(): Position {
    const last = this.#said.length > saidMax ? this.#said[saidMax - 1] : undefined;
    return last?.position ?? this.#position;
  }

  rest(): Rest {
    if (this.isOver || this.#needsAnswer || this.#said.length >= saidMax) return "now";
    if (this.#calls.size === 0) return "no";
    // The run may have more for the shell to do beside this, until it waits for nothing else.
    return this.#task.parked === null ? "soon" : "now";
  }

  /** Whether only signatures count, which no shell can give. */
  get #needsHarp(): boolean {
    return demandsHarp(this.#task.policy.approval_policy);
  }

  /** A question always does. An approval that others give is told once, and then waited for. */
  get #needsAnswer(): boolean {
    const { pending } = this.#task;
    if (pending === null) return false;
    if (pending.kind === "input" || isAnswerable(this.granted, this.#needsHarp)) return true;
    return (this.#pending?.position ?? 0) > this.#after;
  }

  /** Everything that the response has to say, in the order of emission. */
  async directives(): Promise<ActionDirective[]> {
    const items = [...this.#said, ...this.open].sort((one, other) => one.position - other.position);
    const made = await Promise.all(items.map((item) => item.directive()));
    const told = made.filter((directive) => directive !== null);
    const isWorking = !this.isOver && this.open.length === 0;
    return isWorking
      ? [...told, ...workingDirectives(`${this.#task.id}:${this.#turn}`, this.#progress)]
      : told;
  }

  /** Takes an event in, and gives what it has to tell. */
  fold(event: RecordedEvent): Told[] {
    this.#position = event.position;
    const before = this.#task.pending;
    const told = this.#take(event);
    if (before !== null && this.#task.pending?.step !== before.step) this.#pending = null;
    return event.position > this.#after ? told : [];
  }

  #take(event: RecordedEvent): Told[] {
    switch (event.event) {
      case "task.submitted":
        this.#task = event.payload.task;
        return [];
      case "vendor.bridle.shell_link.created":
        return this.#listen(event.payload.shell_link);
      case "vendor.bridle.shell_link.turn_taken":
        return this.#listen(event.payload.turn);
      case "agent.message": {
        const { parts } = event.payload.message;
        return this.#say(event.position, "messages:read", async () => {
          const found = await unsealShown(parts, this.#store);
          return "value" in found ? messageDirective(eventId(event.position), found.value) : null;
        });
      }
      case "artifact.created":
        return this.#makeArtifact(event.position, event.payload.artifact);
      case "artifact.updated": {
        const known = this.#artifacts.get(event.payload.artifact_id);
        return known === undefined ? [] : this.#makeArtifact(event.position, changed(known, event));
      }
      case "tool.approval_required":
        this.#permissions.set(event.payload.permission_request.id, event.payload.permission_request);
        return [];
      default:
        if (event.resource.id !== this.#task.id) return [];
        this.#task = changed(this.#task, event);
        return this.#takeOwn(event);
    }
  }

  #takeOwn(event: RecordedEvent): Told[] {
    switch (event.event) {
      case "span.updated":
        return this.#update(event);
      case "span.started":
        return this.#call(event);
      case "span.completed":
      case "span.failed":
        this.#calls.delete(event.payload.step);
        return [];
      case "task.input_required":
      case "task.auth_required":
        return this.#ask(event);
      case "task.completed":
      case "task.failed":
      case "task.canceled":
        this.#calls.clear();
        return [];
      default:
        return [];
    }
  }

  #listen({ turn, capabilities }: { turn: number; capabilities: string[] }): Told[] {
    this.#turn = turn;
    this.#asked = capabilities;
    return [];
  }

  /** Who may not read messages, or artifacts, is not told them here either. */
  #say(position: Position, scope: "messages:read" | "artifacts:read", directive: Item["directive"]): Told[] {
    if (!mayUse(this.#caller, scope) || position <= this.#after) return [];
    const item = { position, directive };
    this.#said.push(item);
    return [{ item }];
  }

  #makeArtifact(position: Position, artifact: ArtifactRecord): Told[] {
    if (!artifact.complete) this.#artifacts.set(artifact.id, artifact);
    if (!artifact.complete || artifact.visibility !== "public") return [];
    this.#artifacts.delete(artifact.id);
    return this.#say(position, "artifacts:read", async () => artifactDirective(artifact));
  }

  #update({ position, payload }: RecordedEvent & { event: "span.updated" }): Told[] {
    const { message, percent, directive } = payload;
    if (directive !== undefined) {
      return this.#say(position, "messages:read", async () => {
        const found = await unsealShown(directive, this.#store);
        const described = { id: eventId(position), kind: "action" } as const;
        return "value" in found ? givenDirective(described, found.value, this.granted) : null;
      });
    }
    if (message === undefined || !mayUse(this.#caller, "messages:read")) return [];
    this.#progress = percent === undefined ? { message } : { message, percent };
    return [{ progress: this.#progress }];
  }

  #call({ position, payload }: RecordedEvent & { event: "span.started" }): Told[] {
    const { step, name, host_call } = payload;
    if (host_call === undefined || !name.startsWith(shellPrefix)) return [];
    if (!mayHost(this.#caller, { madeBy: this.#task.created_by, capability: name })) return [];
    const { call_id: id, input, expires_at } = host_call;
    const item = {
      id,
      position,
      directive: async () => {
        const found = await unsealShown(input, this.#store);
        if (!("value" in found) || !isObject(found.value)) return null;
        const more = { expects_outcome: true, expires_at };
        return givenDirective({ id, kind: "action", more }, found.value, this.granted);
      },
    };
    this.#calls.set(step, item);
    return [{ item }];
  }

  #ask({
    position,
    payload,
  }: RecordedEvent & { event: "task.input_required" | "task.auth_required" }): Told[] {
    const { request } = payload;
    const permission = this.#permissions.get(request.permission_request_id ?? "");
    const item: Item = {
      position,
      directive: async () =>
        permission === undefined
          ? questionDirective(questionIdOf(this.#task.id, request.step), request)
          : approvalDirective(permission, this.granted, this.#needsHarp),
    };
    this.#pending = item;
    return [{ item }];
  }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
