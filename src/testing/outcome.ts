/** Reads from the log what came of a task. */

import { unseal } from "../kernel/core/content.ts";
import type { ArtifactRecord } from "../kernel/kinds/artifact.ts";
import type { MessageRecord } from "../kernel/kinds/message.ts";
import type { PermissionRequestRecord } from "../kernel/kinds/permission-request.ts";
import type { TaskRecord } from "../kernel/kinds/task.ts";
import { readReceipt } from "../kernel/receipts/read-receipts.ts";
import { logLines } from "../kernel/sessions/export-log.ts";
import type { JsonObject, JsonValue, TenantStore } from "../store/port.ts";
import { openMemoryStore } from "../store/sqlite/in-memory.ts";
import { contentOf, type JournalStep, readJournal } from "./journal.ts";
import type { Waiting } from "./play.ts";
import { Rehearsal, type RehearsalFacts, type RehearsedArtifact } from "./rehearsal.ts";
import type { ScriptedCall } from "./scripted.ts";
import type { Stage } from "./stage.ts";

const listMax = 10_000;
/** A rehearsal is over when all receipts are there. */
const receipts = { caughtUp: async () => {}, nearlyCaughtUp: async () => {} };

export async function outcomeOf(
  { database, clock, system, files }: Stage,
  taskId: string,
  waitingFor: Waiting | null,
  models: readonly ScriptedCall[],
): Promise<Rehearsal> {
  const whole = openMemoryStore(database);
  const store = whole.of(system.tenantId);
  const task = (await store.get("task", taskId))?.body as TaskRecord;
  const journal = await readJournal(store, taskId);
  const facts: RehearsalFacts = {
    status: task.status,
    output: await outputOf(store, task),
    failure: task.failure,
    waitingFor,
    journal,
    said: journal.filter(({ kind }) => kind === "say").map(({ name }) => name),
    asked: journal.filter(({ kind }) => kind === "ask").map(questionOf),
    approvals: await approvalsOf(store, taskId),
    artifacts: await artifactsOf(store, taskId),
    files: files.texts,
    models: [...models],
    receipt: task.outcome?.receipt_id == null ? null : await readReceipt(store, task.outcome.receipt_id),
    endedAt: new Date(clock.now()),
  };
  return new Rehearsal(facts, async () => {
    let text = "";
    for await (const line of await logLines({ store: whole, receipts }, system, { taskId }))
      text += `${line}\n`;
    return text;
  });
}

/** What was returned is the agent's last message. */
async function outputOf(store: TenantStore, { status, outcome }: TaskRecord): Promise<JsonValue> {
  const messageId = outcome?.message_ids.at(-1);
  if (status !== "COMPLETED" || messageId === undefined) return null;
  const document = await store.get("message", messageId);
  return document === undefined
    ? null
    : contentOf(await unseal((document.body as MessageRecord).parts, store));
}

function questionOf({ key, name, input = null, output }: JournalStep): RehearsalFacts["asked"][number] {
  // The input of a question is the schema of its answer.
  const asked = { step: key, question: name, schema: input as JsonObject | null };
  return output === undefined ? asked : { ...asked, answer: output };
}

async function approvalsOf(store: TenantStore, taskId: string): Promise<RehearsalFacts["approvals"]> {
  const found = await recordsOf<PermissionRequestRecord>(store, "permission_request", taskId);
  return found.map(({ step, action, request, response }) => {
    const { payload = null, risk = "medium" } = request;
    const asked = { step, action: String(action), payload, risk: String(risk) };
    if (response === null) return asked;
    const { approved, reason } = response;
    return { ...asked, approved, ...(reason === null ? {} : { reason }) };
  });
}

async function artifactsOf(store: TenantStore, taskId: string): Promise<RehearsedArtifact[]> {
  const found = await recordsOf<ArtifactRecord>(store, "artifact", taskId);
  return await Promise.all(
    found.map(async ({ name, kind, mime_type: mimeType, blob }) => {
      const bytes = (blob === null ? undefined : await store.blob(blob)) ?? new Uint8Array();
      return { name: name ?? "", kind, mimeType, bytes, text: Buffer.from(bytes).toString("utf8") };
    }),
  );
}

/** Documents are written by the kernel only, each in the shape of its kind. */
async function recordsOf<T>(store: TenantStore, kind: string, taskId: string): Promise<T[]> {
  const found = await store.list({ kind, by: { taskId }, order: "oldest_first", limit: listMax });
  return found.map(({ body }) => body as T);
}
