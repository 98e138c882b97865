/** What a receipt can be asked for, as far as the caller may read it, and the task that it belongs to. */

import type { Caller } from "../../policy/caller.ts";
import { nextSlice } from "../../slices.ts";
import { requireScope } from "../access/authorize.ts";
import { readScope } from "../access/read-scopes.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import { asRecorded } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import { getRecord } from "../core/read.ts";
import { getEvent } from "../core/read-events.ts";
import type { KernelDeps } from "../core/unit.ts";
import { getOutcome } from "../tasks/outcomes.ts";
import { isAbout, type RequestedSubject, splitToolCallId } from "./subjects.ts";

/** The task that the subject belongs to. */
export async function taskOfSubject(
  deps: KernelDeps,
  caller: Caller,
  subject: RequestedSubject,
): Promise<string> {
  // The answer is the receipt.
  requireScope(caller, readScope.receipt);
  switch (subject.object) {
    case "outcome":
      return (await getOutcome(deps, caller, subject.id)).id;
    case "event":
      return owner(subject, (await getEvent(deps, caller, subject.id)).taskId);
    case "artifact": {
      const { task_id, complete } = await getRecord(deps, caller, "artifact", subject.id);
      if (!complete) throw new HarnessError("conflict", `Artifact ${subject.id} is still being written.`);
      return owner(subject, task_id);
    }
    case "tool_call":
      return await taskOfCall(deps, caller, subject);
  }
}

function owner({ object, id }: RequestedSubject, taskId: string | null): string {
  if (taskId !== null) return taskId;
  throw new HarnessError(
    "invalid_request",
    `The ${object} ${id} belongs to no task; a receipt names the task of its subject.`,
    { param: "subject.id" },
  );
}

async function taskOfCall(deps: KernelDeps, caller: Caller, subject: RequestedSubject): Promise<string> {
  requireScope(caller, readScope.task);
  const call = splitToolCallId(subject.id);
  if (call === null) {
    const expected = "<task_id>/<step>, for example task_01…/tool:mail.send:1";
    throw new HarnessError("invalid_request", `The id of a tool call is ${expected}.`, {
      param: "subject.id",
    });
  }
  const { id } = await getRecord(deps, caller, "task", call.taskId);
  for await (const events of readLog(deps.store.of(caller.tenantId), { taskId: id, after: 0 })) {
    const ended = events.map(asRecorded).some((event) => {
      const isEnd = event.event === "span.completed" || event.event === "span.failed";
      return isEnd && isAbout(subject, event);
    });
    if (ended) return id;
    await nextSlice();
  }
  throw notFound("tool_call", subject.id);
}
