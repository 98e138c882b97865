/** Following a task: what it is, then everything that becomes of it, until it ends. */

import type {
  StreamResponseJson,
  SubscribeToTaskRequest,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../kernel/core/errors.ts";
import { asRecorded, findPosition } from "../../kernel/core/events.ts";
import { durableCursorUri } from "../../kernel/core/extension-uris.ts";
import { followLog, readLog } from "../../kernel/core/log-tail.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import { noteTaskRead } from "../../kernel/tasks/read-tasks.ts";
import type { Position } from "../../store/port.ts";
import { addressed } from "./agent.ts";
import type { Call } from "./call.ts";
import { InvalidParams, OpvsError } from "./errors.ts";
import { detailOf, present, presentationFor } from "./present-task.ts";
import { visibleTask } from "./tasks.ts";
import { type TaskDetail, TaskView } from "./view/task-view.ts";

interface Following {
  /** The event as of which the task is told first. */
  from: Position;
  detail: TaskDetail;
  /** Whether it is over when the agent asks something: the answer comes with a stream of its own. */
  endsWithQuestion: boolean;
}

export async function subscribeToTask(
  call: Call,
  request: SubscribeToTaskRequest,
): Promise<AsyncIterable<StreamResponseJson>> {
  if (!addressed(call).card.streaming) {
    throw new OpvsError("UNSUPPORTED_OPERATION", "This agent does not stream.");
  }
  const { kernel } = call;
  const head = await kernel.store.head();
  const since = call.extensions.has(durableCursorUri) ? sincePosition(call, head) : null;
  const task = await visibleTask(call, request.id);
  await noteTaskRead(kernel, call.caller, task);
  const detail = detailOf(undefined);
  if (since === null) {
    // In 0.3 who follows a task that has ended is told how, and that is all.
    const canFollow = !isFinal(task.status) || call.version === "0.3";
    if (canFollow) return followTask(call, task, { from: head, detail, endsWithQuestion: false });
    throw new OpvsError("UNSUPPORTED_OPERATION", `Task ${task.id} has ended; there is nothing to follow.`, {
      taskId: task.id,
    });
  }
  if (task.trimmed !== undefined) return gap(call, task, detail);
  return followTask(call, task, { from: since, detail, endsWithQuestion: false });
}

function sincePosition({ since }: Call, head: Position): Position | null {
  if (since === null) return null;
  const position = findPosition(since);
  if (position !== null && position <= head) return position;
  throw new InvalidParams([{ field: "since", description: "is no event of this server" }]);
}

/** What came after the cursor has left the log by age. The task as it ended is all there is, and that is said. */
async function* gap(call: Call, task: TaskRecord, detail: TaskDetail): AsyncGenerator<StreamResponseJson> {
  const snapshot = await present(call, new TaskView(task, presentationFor(call)), detail);
  const metadata = { ...snapshot.metadata, [durableCursorUri]: { gap: true } };
  yield { task: { ...snapshot, metadata } };
}

export async function* followTask(
  call: Call,
  task: TaskRecord,
  { from, detail, endsWithQuestion }: Following,
): AsyncGenerator<StreamResponseJson> {
  const { kernel, signal, stopped } = call;
  const view = await TaskView.read(task, from, presentationFor(call));
  yield { task: await present(call, view, detail) };
  const store = kernel.store.of(task.tenant_id);
  const filter = { taskId: task.id, after: view.position };
  // Of a task that has ended there is only history.
  const pages = isFinal(task.status) ? readLog(store, filter) : followLog(store, kernel.tail, filter, signal);
  if (isDone(view, endsWithQuestion)) return;
  for await (const page of pages) {
    for (const event of page) {
      yield* await view.follow(asRecorded(event));
      if (isDone(view, endsWithQuestion)) return;
    }
  }
  if (stopped.aborted) throw new HarnessError("service_unavailable", "The server is stopping.");
}

function isDone(view: TaskView, endsWithQuestion: boolean): boolean {
  return view.isOver || (endsWithQuestion && view.task.pending?.kind === "input");
}
