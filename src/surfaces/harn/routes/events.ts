/** Events: ranges of the log, and streams that follow it. */

import type { Static } from "typebox";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { getRecord } from "../../../kernel/core/read.ts";
import {
  type EventRange,
  type EventScope,
  followEvents,
  getEvent,
  listEvents,
} from "../../../kernel/core/read-events.ts";
import { replaySession } from "../../../kernel/replay/replay-session.ts";
import { eventKinds } from "../../../kernel/sessions/transfer/payloads.ts";
import type { StoredEvent } from "../../../store/port.ts";
import { isUpgrade } from "../../websocket.ts";
import type { EventStream } from "../event-stream.ts";
import { presentPage } from "../lists.ts";
import { presentEvent, presentHistory } from "../present-event.ts";
import { type Call, type Route, route } from "../route.ts";
import { Event, EventFilterQuery, EventRangeQuery, ListOf, type LogRangeQuery } from "../schemas.ts";
import { streamEvents } from "../sse.ts";
import type { HarnOptions } from "../surface.ts";
import { streamEventFrames } from "../ws/event-frames.ts";

const tag = "Events";

type RangeQuery = Static<typeof EventRangeQuery>;

async function list(call: Call<RangeQuery, unknown>, scope: EventScope): Promise<unknown> {
  const page = await listEvents(call.kernel, call.caller, {
    ...scope,
    ...cursorOf(call),
    kinds: kindsOf(call.query),
    limit: call.query.limit,
  });
  return presentPage(page, (event) => presentEvent(event, call));
}

/** Where to go on from, and what the client called it. */
export function cursorOf({
  query,
  request,
}: Pick<Call<Static<typeof LogRangeQuery>, unknown>, "query" | "request">): Pick<
  EventRange,
  "afterEventId" | "cursorParam"
> {
  const lastSeen = request.headers["last-event-id"];
  if (typeof lastSeen === "string" && lastSeen !== "") {
    return { afterEventId: lastSeen, cursorParam: "Last-Event-ID" };
  }
  if (query.after_event_id !== undefined) return { afterEventId: query.after_event_id };
  return query.cursor === undefined ? {} : { afterEventId: query.cursor, cursorParam: "cursor" };
}

/** What nobody ever records is a mistake, and not a filter that lets nothing through. */
function kindsOf({ event }: RangeQuery): ReadonlySet<string> | undefined {
  if (event === undefined) return undefined;
  const kinds = event.split(",").map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !eventKinds.includes(kind));
  if (unknown === undefined) return new Set(kinds);
  throw new HarnessError("invalid_request", `${JSON.stringify(unknown)} is not a kind of event.`, {
    param: "event",
  });
}

/** Streams of one task end with the task; all others go on until somebody leaves. */
async function stream(
  call: Call<RangeQuery, unknown>,
  scope: EventScope,
  { stopped, report, sockets, heartbeatMs }: StreamOptions,
): Promise<void> {
  const range: EventRange = { ...scope, ...cursorOf(call), kinds: kindsOf(call.query) };
  // Once a stream is open, a refusal has no status of its own any more.
  if (scope.workspaceId !== undefined) await getRecord(call, call.caller, "workspace", scope.workspaceId);
  if (scope.taskId !== undefined) await getRecord(call, call.caller, "task", scope.taskId);
  if (scope.sessionId !== undefined) await getRecord(call, call.caller, "session", scope.sessionId);
  const stream: EventStream = {
    after: range.afterEventId,
    open: (signal) => followEvents(call.kernel, call.caller, range, signal),
    present: (event) => presentEvent(event, call),
    isStillAllowed: call.kernel.stillAllowed(call.credential),
    stopped,
    requestId: call.request.id,
    report: (error) => report(error, call.request.id),
  };
  if (!isUpgrade(call.request)) return await streamEvents(call.reply, stream, heartbeatMs);
  const liveAfter = await call.store.head();
  const socket = await sockets.accept(call.request, call.reply, stream.isStillAllowed);
  if (socket !== null) await streamEventFrames(socket, stream, liveAfter);
}

export type StreamOptions = Pick<HarnOptions, "stopped" | "report" | "sockets" | "heartbeatMs">;

/** The history up to now; the stream ends with the event that says it was asked for. */
async function replay(
  call: Call<RangeQuery, unknown>,
  sessionId: string,
  { stopped, report, heartbeatMs }: StreamOptions,
): Promise<unknown> {
  // The stream ends with the event that says it was asked for.
  const wanted = kindsOf(call.query);
  const kinds = wanted === undefined ? undefined : new Set([...wanted, "session.replayed"]);
  const range: EventRange = { sessionId, ...cursorOf(call), kinds };
  // A cursor that leads nowhere is refused before anything is written.
  const page = await listEvents(call.kernel, call.caller, { ...range, limit: call.query.limit });
  const { id } = await call.dispatch(replaySession, { sessionId });
  if ((call.request.headers.accept ?? "").includes("application/json")) {
    return await presentPage(page, (event) => presentHistory(event, call));
  }
  const end = call.writtenAt;
  const isLast = ({ position }: StoredEvent) => position === end;
  const history: EventStream = {
    after: range.afterEventId,
    open: (signal) => followEvents(call.kernel, call.caller, range, signal),
    present: (event) => (isLast(event) ? presentEvent(event, call) : presentHistory(event, call)),
    isLast: (event) => event.sessionId === id && isLast(event),
    isStillAllowed: call.kernel.stillAllowed(call.credential),
    stopped,
    requestId: call.request.id,
    report: (error) => report(error, call.request.id),
  };
  await streamEvents(call.reply, history, heartbeatMs);
  return undefined;
}

const streaming = { method: "GET", tag, produces: "text/event-stream", webSocket: "optional" } as const;

export function eventRoutes(options: StreamOptions): Route[] {
  return [...logRoutes(options), ...sessionRoutes(options), ...taskRoutes(options)];
}

function logRoutes(options: StreamOptions): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/events",
      operationId: "listEvents",
      scope: "events:read",
      summary: "Read a range of the log, oldest event first.",
      tag,
      query: EventFilterQuery,
      response: ListOf(Event),
      handle: (call) => list(call, scopeOf(call.query)),
    }),
    route({
      ...streaming,
      path: "/v1/events/stream",
      operationId: "streamEvents",
      scope: "events:read",
      summary: "Follow the log from a cursor.",
      query: EventFilterQuery,
      handle: (call) => stream(call, scopeOf(call.query), options),
    }),
    route({
      method: "GET",
      path: "/v1/events/{event_id}",
      operationId: "getEvent",
      scope: "events:read",
      summary: "Read an event.",
      tag,
      response: Event,
      async handle(call) {
        return presentEvent(await getEvent(call.kernel, call.caller, call.param("event_id")), call);
      },
    }),
  ];
}

function sessionRoutes(options: StreamOptions): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sessions/{session_id}/events",
      operationId: "listSessionEvents",
      scope: "events:read",
      summary: "Read a range of a session's events.",
      tag,
      query: EventRangeQuery,
      response: ListOf(Event),
      handle: (call) => list(call, { sessionId: call.param("session_id") }),
    }),
    route({
      ...streaming,
      path: "/v1/sessions/{session_id}/events/stream",
      operationId: "streamSessionEvents",
      scope: "events:read",
      summary: "Follow a session's events from a cursor.",
      query: EventRangeQuery,
      handle: (call) => stream(call, { sessionId: call.param("session_id") }, options),
    }),
    route({
      method: "POST",
      path: "/v1/sessions/{session_id}/replay",
      operationId: "replaySession",
      scope: "events:read",
      summary:
        "Stream a session's history as replayed events, or read a page of it (Accept: application/json).",
      tag,
      query: EventRangeQuery,
      response: ListOf(Event),
      handle: (call) => replay(call, call.param("session_id"), options),
    }),
  ];
}

function taskRoutes(options: StreamOptions): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/tasks/{task_id}/events",
      operationId: "listTaskEvents",
      scope: "events:read",
      summary: "Read a range of a task's events.",
      tag,
      query: EventRangeQuery,
      response: ListOf(Event),
      handle: (call) => list(call, { taskId: call.param("task_id") }),
    }),
    route({
      ...streaming,
      path: "/v1/tasks/{task_id}/stream",
      operationId: "streamTaskEvents",
      scope: "events:read",
      summary: "Follow a task's events from a cursor until it ends.",
      query: EventRangeQuery,
      handle: (call) => stream(call, { taskId: call.param("task_id") }, options),
    }),
  ];
}

function scopeOf({ workspace_id, session_id, task_id }: Static<typeof EventFilterQuery>): EventScope {
  return { workspaceId: workspace_id, sessionId: session_id, taskId: task_id };
}
