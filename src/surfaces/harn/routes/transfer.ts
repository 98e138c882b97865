/** Taking logs and receipts elsewhere, and taking logs over: files of JSON lines. */

import { Readable } from "node:stream";
import { exportReceipts } from "../../../kernel/receipts/export-receipts.ts";
import { exportLog } from "../../../kernel/sessions/export-log.ts";
import { importSession } from "../../../kernel/sessions/import-session.ts";
import { receiveLog } from "../../../kernel/sessions/transfer/receive-log.ts";
import { nextFrame } from "../../../slices.ts";
import { presentSession } from "../present.ts";
import { type Call, jsonLines, route, streamOf } from "../route.ts";
import { LogLines } from "../schemas.ts";
import { Session } from "../schemas-session.ts";

const tag = "Transfer";

/** Sent no faster than the client reads. */
export function sendLines({ reply }: Call<unknown, unknown>, lines: AsyncGenerator<string>): Readable {
  reply.header("Content-Type", jsonLines);
  return Readable.from(ended(lines));
}

async function* ended(lines: AsyncGenerator<string>): AsyncGenerator<string> {
  for await (const line of lines) {
    await nextFrame();
    yield `${line}\n`;
  }
}

export const transferRoutes = [
  route({
    method: "GET",
    path: "/v1/sessions/{session_id}/export",
    operationId: "exportSession",
    scope: "events:read",
    summary: "The whole log of a session, as a file that another server can import.",
    tag,
    produces: jsonLines,
    async handle(call) {
      return sendLines(
        call,
        await exportLog(call.kernel, call.caller, { sessionId: call.param("session_id") }),
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/tasks/{task_id}/export",
    operationId: "exportTask",
    scope: "events:read",
    summary: "The log of a task, as a file that it can be replayed from without a server.",
    tag,
    produces: jsonLines,
    async handle(call) {
      return sendLines(call, await exportLog(call.kernel, call.caller, { taskId: call.param("task_id") }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/sessions/import",
    operationId: "importSession",
    scope: "admin",
    summary: "Take over the log of a session from another server.",
    tag,
    status: 201,
    reads: "json_lines",
    body: LogLines,
    response: Session,
    async handle(call) {
      const { bundle, sha256, release } = await receiveLog(call.kernel, call.caller, streamOf(call.body));
      try {
        return await presentSession(
          await call.dispatch(importSession, { bundle }, sha256),
          call,
          call.writtenAt,
        );
      } finally {
        release();
      }
    },
  }),
  route({
    method: "GET",
    path: "/v1/workspaces/{workspace_id}/receipts/export",
    operationId: "exportReceipts",
    scope: "receipts:read",
    summary: "The receipts of a workspace in chain order with the keys to verify them.",
    tag,
    produces: jsonLines,
    async handle(call) {
      return sendLines(call, await exportReceipts(call.kernel, call.caller, call.param("workspace_id")));
    },
  }),
];
