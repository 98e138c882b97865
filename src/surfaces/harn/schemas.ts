/**
 * The bodies of the Harn Agents Protocol. One source for validation, for types and for `/openapi.json`.
 * Objects may carry fields that are not listed; they are ignored.
 */

import { type TSchema, Type } from "typebox";
import { errorTypes } from "../../kernel/core/errors.ts";
import { replayModes } from "../../kernel/kinds/replay.ts";
import { Envelope, Filter, JsonObject, Limit, Nullable, Timestamp } from "./schema-pieces.ts";
import { TaskStatus } from "./schemas-task.ts";

export const Event = Envelope("event", {
  event: Type.String(),
  resource: Type.Object({ object: Type.String(), id: Type.String() }),
  sequence: Type.Integer({ minimum: 0 }),
  payload: JsonObject,
  trace_id: Nullable(
    Type.String({ description: "The trace of its task, in the form of W3C Trace Context." }),
  ),
  span_id: Nullable(Type.String({ description: "The step that it is about, or else the task." })),
  parent_span_id: Nullable(Type.String()),
  session_id: Nullable(Type.String()),
  task_id: Nullable(Type.String()),
  workspace_id: Nullable(Type.String()),
  actor: Nullable(Type.String()),
  key_id: Type.Optional(Type.String({ description: "The API key that the actor used." })),
  previous_event_id: Nullable(Type.String()),
  receipt_id: Nullable(Type.String()),
  replayed: Type.Boolean(),
  replay: Nullable(
    Type.Object({
      source_task_id: Nullable(Type.String()),
      replay_task_id: Nullable(Type.String()),
      original_event_id: Nullable(Type.String()),
      replay_cursor: Nullable(Type.String()),
      mode: Type.Enum([...replayModes]),
      override_key: Type.Optional(Type.String()),
      receipt_delta_id: Type.Optional(Type.String()),
    }),
  ),
});
/** JSON lines; what is in them is checked as they are read. */
export const LogLines = Type.Unknown();
export const ErrorResponse = Type.Object({
  error: Type.Object({
    code: Type.Enum(Object.keys(errorTypes)),
    message: Type.String(),
    type: Type.Enum([...new Set(Object.values(errorTypes))]),
    param: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    details: JsonObject,
  }),
});
export const ListOf = <S extends TSchema>(item: S) =>
  Type.Object({
    object: Type.Literal("list"),
    data: Type.Array(item),
    page: Type.Object({ next_cursor: Nullable(Type.String()), has_more: Type.Boolean() }),
  });
export const PageQuery = Type.Object({ limit: Limit, cursor: Type.Optional(Type.String()) });
type FilterName = "workspace_id" | "session_id" | "task_id";
/** A page of a list that can be filtered by these, and by nothing else. */
export function pageQuery<Names extends FilterName>(...names: Names[]) {
  const filters = Object.fromEntries(names.map((name) => [name, Filter])) as Record<Names, typeof Filter>;
  return Type.Object({ ...PageQuery.properties, ...filters });
}
export const TaskListQuery = Type.Object({
  ...pageQuery("workspace_id", "session_id").properties,
  status: Type.Optional(TaskStatus),
  agent: Filter,
  since: Type.Optional(Timestamp),
});
export const LogRangeQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String()),
  after_event_id: Type.Optional(Type.String()),
});
export const EventRangeQuery = Type.Object({
  ...LogRangeQuery.properties,
  event: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description: "Only these kinds of events, with commas between them: `task.completed,task.failed`.",
    }),
  ),
});
export const EventFilterQuery = Type.Object({
  ...EventRangeQuery.properties,
  workspace_id: Filter,
  session_id: Filter,
  task_id: Filter,
});
