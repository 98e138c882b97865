/**
 * A task as it was at some point of the log: the fold of its events up to there. Streams, answers and webhooks are all
 * made from this, so they agree with each other whatever happens meanwhile.
 */

import type {
  ArtifactJson,
  MessageJson,
  StreamResponseJson,
  TaskJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { inlined, unsealShown } from "../../../kernel/core/content.ts";
import { asRecorded, eventId, type RecordedEvent } from "../../../kernel/core/events.ts";
import { durableCursorUri } from "../../../kernel/core/extension-uris.ts";
import { changed } from "../../../kernel/core/fold.ts";
import { readLog } from "../../../kernel/core/log-tail.ts";
import { saidKey } from "../../../kernel/kinds/client-message.ts";
import type { MessageRecord } from "../../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { contextIdOf } from "../../../kernel/sessions/send-message.ts";
import { isFinal } from "../../../kernel/tasks/lifecycle.ts";
import type { JsonObject, Position, TenantStore } from "../../../store/port.ts";
import { artifactJson, chunkJson, InlineRoom, type WrittenArtifact } from "./artifacts.ts";
import { messageJson, type Place } from "./parts.ts";
import { agentMessage, stateOf, statusJson } from "./status.ts";

export interface Presentation {
  store: TenantStore;
  publicUrl: string;
  /** Whether events say where in the log they stand. */
  withCursor: boolean;
  /** Whether what the agent says, and what it makes, may be told. */
  withMessages: boolean;
  withArtifacts: boolean;
}

export interface TaskDetail {
  /** The most messages; null means all. */
  historyLength: number | null;
  withArtifacts: boolean;
}

/** Everything of it that may be told. */
export const wholeTask: TaskDetail = { historyLength: null, withArtifacts: true };

/** At hand, or to be read: most of what is said is in the events themselves. */
type Perhaps<T> = T | Promise<T>;

export class TaskView {
  readonly #presentation: Presentation;
  #task: TaskRecord;
  #position: Position = 0;
  /** The last event that was told to the client: from there it can go on. */
  #told: Position = 0;
  readonly #messages: MessageRecord[] = [];
  readonly #artifacts = new Map<string, WrittenArtifact>();

  /** `task` is the record that stands for a task whose events have left the log. */
  constructor(task: TaskRecord, presentation: Presentation) {
    this.#task = task;
    this.#presentation = presentation;
  }

  /** The task as of an event, or as of its submission when that is later. */
  static async read(task: TaskRecord, through: Position, presentation: Presentation): Promise<TaskView> {
    const view = new TaskView(task, presentation);
    if (task.trimmed !== undefined) return view;
    let isSubmitted = false;
    for await (const page of readLog(presentation.store, { taskId: task.id, after: 0 })) {
      for (const event of page) {
        if (isSubmitted && event.position > through) return view;
        view.#fold(asRecorded(event));
        isSubmitted ||= event.event === "task.submitted";
      }
    }
    return view;
  }

  /** The task as these events leave it; they begin with its first one. */
  static of(task: TaskRecord, events: readonly RecordedEvent[], presentation: Presentation): TaskView {
    const view = new TaskView(task, presentation);
    for (const event of events) view.#fold(event);
    return view;
  }

  get task(): TaskRecord {
    return this.#task;
  }

  get position(): Position {
    return this.#position;
  }

  /** Its end is told by the event that also says how it ended. */
  get isOver(): boolean {
    return isFinal(this.#task.status) && this.#task.outcome !== null;
  }

  /** The whole of it, as the first thing that a stream says or as an answer. */
  async snapshot(detail: TaskDetail, metadata: JsonObject = {}): Promise<TaskJson> {
    this.#told = this.#position;
    const { [saidKey]: _, ...given } = this.#task.metadata;
    const all = { ...given, ...metadata, ...this.#cursor(this.#position) };
    const { withMessages, withArtifacts } = this.#presentation;
    const said = withMessages ? this.#history(detail.historyLength) : [];
    const history = said instanceof Promise ? await said : said;
    const made = withArtifacts && detail.withArtifacts ? this.#shownArtifacts() : [];
    const artifacts = made instanceof Promise ? await made : made;
    return {
      id: this.#task.id,
      contextId: contextIdOf(this.#task),
      status: statusJson(this.#task),
      ...(artifacts.length === 0 ? {} : { artifacts }),
      ...(history.length === 0 ? {} : { history }),
      ...(Object.keys(all).length === 0 ? {} : { metadata: all }),
    };
  }

  /** What an event has to say to a client, once it is part of the view. Of several, only the last names the event. */
  async follow(event: RecordedEvent): Promise<StreamResponseJson[]> {
    this.#fold(event);
    const said = await this.#say(event);
    if (!this.#presentation.withCursor) return said;
    const marked = said.map((response, index) =>
      withMetadata(response, this.#cursor(index === said.length - 1 ? event.position : this.#told)),
    );
    if (said.length > 0) this.#told = event.position;
    return marked;
  }

  /** The agent's answer, for those who may read it. */
  async answer(): Promise<MessageJson | null> {
    return this.#presentation.withMessages ? await this.#lastMessage() : null;
  }

  /** What the run gave in the end. */
  #lastMessage(): Perhaps<MessageJson | null> {
    const ids = this.#task.outcome?.message_ids ?? [];
    const last = this.#messages.findLast(({ id }) => ids.includes(id));
    return last === undefined ? null : this.#message(last);
  }

  #fold(event: RecordedEvent): void {
    this.#position = event.position;
    switch (event.event) {
      case "task.submitted":
        if (event.replay?.is_copy !== true) this.#task = event.payload.task;
        return;
      case "user.message":
      case "agent.message":
      case "vendor.bridle.message":
        this.#messages.push(event.payload.message);
        return;
      case "artifact.created":
        this.#artifacts.set(event.payload.artifact.id, { record: event.payload.artifact, chunks: [] });
        return;
      case "artifact.updated": {
        const written = this.#artifacts.get(event.payload.artifact_id);
        if (written === undefined) return;
        written.chunks.push(event.payload.chunk);
        written.record = changed(written.record, event);
        // All of it is in one place now.
        if (written.record.complete) written.chunks = [];
        return;
      }
      default:
        if (event.resource.id === this.#task.id) this.#task = changed(this.#task, event);
    }
  }

  async #say(event: RecordedEvent): Promise<StreamResponseJson[]> {
    const { withMessages, withArtifacts } = this.#presentation;
    switch (event.event) {
      case "task.submitted":
        return [{ task: await this.snapshot(wholeTask) }];
      case "task.status_changed":
        // Every other change is told by the event that comes with it and knows more.
        return event.payload.to === "WORKING" ? [this.#status(event)] : [];
      case "task.input_required":
      case "task.auth_required":
        return event.replay?.is_copy === true ? [] : [this.#status(event)];
      case "agent.message": {
        if (!withMessages) return [];
        // The result is told as an artifact, with the end.
        const message = event.payload.step === undefined ? null : await this.#message(event.payload.message);
        return message === null ? [] : [this.#status(event, message)];
      }
      case "span.updated": {
        const { message, percent, step = "progress" } = event.payload;
        if (message === undefined || !withMessages) return [];
        const about = percent === undefined ? undefined : { percent };
        return [this.#status(event, agentMessage(this.#task, step, message, about))];
      }
      case "artifact.created":
      case "artifact.updated":
        return withArtifacts ? await this.#artifactUpdate(event) : [];
      case "task.completed":
      case "task.failed":
      case "task.canceled": {
        if (event.replay?.is_copy === true) return [];
        const result = withArtifacts ? await this.#result() : null;
        return [
          ...(result === null ? [] : [this.#artifact(result, { lastChunk: true })]),
          this.#status(event),
        ];
      }
      default:
        return [];
    }
  }

  #status(event: RecordedEvent, message?: MessageJson): StreamResponseJson {
    const status = message === undefined ? statusJson(this.#task) : { state: stateOf(this.#task), message };
    return {
      statusUpdate: {
        taskId: this.#task.id,
        contextId: contextIdOf(this.#task),
        status: { ...status, timestamp: event.createdAt },
      },
    };
  }

  #artifact(
    artifact: ArtifactJson,
    { append = false, lastChunk = false }: { append?: boolean; lastChunk?: boolean },
  ): StreamResponseJson {
    return {
      artifactUpdate: {
        taskId: this.#task.id,
        contextId: contextIdOf(this.#task),
        artifact,
        ...(append ? { append } : {}),
        ...(lastChunk ? { lastChunk } : {}),
      },
    };
  }

  async #artifactUpdate(
    event: RecordedEvent & { event: "artifact.created" | "artifact.updated" },
  ): Promise<StreamResponseJson[]> {
    const { store, publicUrl } = this.#presentation;
    const isNew = event.event === "artifact.created";
    const id = isNew ? event.payload.artifact.id : event.payload.artifact_id;
    const written = this.#artifacts.get(id);
    if (written?.record.visibility !== "public") return [];
    if (!isNew) {
      const { chunk, index, completed } = event.payload;
      const artifact = await chunkJson(written.record, chunk, store);
      return [this.#artifact(artifact, { append: index > 0, lastChunk: completed !== null })];
    }
    // What comes piece by piece is told with the first piece.
    if (!written.record.complete) return [];
    const artifact = await artifactJson(written, store, publicUrl);
    return artifact === null ? [] : [this.#artifact(artifact, { lastChunk: true })];
  }

  #history(length: number | null): Perhaps<MessageJson[]> {
    const messages = length === null ? this.#messages : length === 0 ? [] : this.#messages.slice(-length);
    const shown: MessageJson[] = [];
    for (const [index, record] of messages.entries()) {
      const message = this.#message(record);
      if (message instanceof Promise) return this.#historyFrom(messages.slice(index), shown);
      if (message !== null) shown.push(message);
    }
    return shown;
  }

  async #historyFrom(messages: readonly MessageRecord[], shown: MessageJson[]): Promise<MessageJson[]> {
    for (const record of messages) {
      const message = await this.#message(record);
      if (message !== null) shown.push(message);
    }
    return shown;
  }

  #message(record: MessageRecord): Perhaps<MessageJson | null> {
    const parts = inlined(record.parts);
    return parts === undefined ? this.#sealedMessage(record) : messageJson(record, parts, this.#place);
  }

  async #sealedMessage(record: MessageRecord): Promise<MessageJson | null> {
    const found = await unsealShown(record.parts, this.#presentation.store);
    return "value" in found ? messageJson(record, found.value, this.#place) : null;
  }

  get #place(): Place {
    const { publicUrl } = this.#presentation;
    return { contextId: contextIdOf(this.#task), taskId: this.#task.id, publicUrl };
  }

  #shownArtifacts(): Perhaps<ArtifactJson[]> {
    const shown = [...this.#artifacts.values()].filter(({ record }) => record.visibility === "public");
    const result = this.#result();
    if (shown.length > 0 || result instanceof Promise) return this.#readArtifacts(shown);
    return result === null ? [] : [result];
  }

  async #readArtifacts(shown: readonly WrittenArtifact[]): Promise<ArtifactJson[]> {
    const { store, publicUrl } = this.#presentation;
    const room = new InlineRoom();
    const artifacts: (ArtifactJson | null)[] = [];
    for (const written of shown) artifacts.push(await artifactJson(written, store, publicUrl, room));
    const result = await this.#result();
    return [...artifacts, result].filter((artifact) => artifact !== null);
  }

  /** What the run gave in the end: results are artifacts, and so is this one. */
  #result(): Perhaps<ArtifactJson | null> {
    const last = this.#lastMessage();
    return last instanceof Promise ? last.then(resultOf) : resultOf(last);
  }

  #cursor(position: Position): JsonObject {
    // A task that was shown without its events is not as of any of them.
    if (!this.#presentation.withCursor || position === 0) return {};
    return { [durableCursorUri]: { eventId: eventId(position) } };
  }
}

function resultOf(last: MessageJson | null): ArtifactJson | null {
  return last === null ? null : { artifactId: "result", name: "result", parts: last.parts ?? [] };
}

function withMetadata(response: StreamResponseJson, metadata: JsonObject): StreamResponseJson {
  const { statusUpdate, artifactUpdate } = response;
  if (statusUpdate !== undefined) return { statusUpdate: { ...statusUpdate, metadata } };
  if (artifactUpdate !== undefined) return { artifactUpdate: { ...artifactUpdate, metadata } };
  return response;
}
