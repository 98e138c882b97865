/** Secrets of a run. A secret is read whenever the run is: the log says that it was read, never what it was. */

import { HarnessError } from "../kernel/errors.ts";
import type { EventPayloads, StepSpan } from "../kernel/events.ts";
import { readSecret as readFromVault } from "../kernel/queries/read-secret.ts";
import { secretName } from "../kernel/resources/vault.ts";
import { textsIn } from "../policy/redact/texts-in.ts";
import type { JsonValue } from "../store/port.ts";
import { AgentFailure } from "./failures.ts";
import type { JournalEntry } from "./journal.ts";
import type { Attempted, Run } from "./run.ts";
import { noteResult } from "./steps.ts";

type FromVault = EventPayloads["span.completed"]["from_vault"];

/** `ctx.secret`. */
export async function secret(run: Run, name: string, vaultId: string | undefined): Promise<string> {
  if (!secretName.test(name) || run.redactor.text(name) !== name) {
    throw new AgentFailure("secret_unavailable", "What was asked for is not the name of a secret.");
  }
  await beforeSecretRead(run, name);
  const span: StepSpan = { step: run.key(`secret:${name}`), kind: "secret", name };
  const recorded = await run.recall(span.step);
  let from: FromVault;
  const value = await readSecret(
    run,
    span,
    recorded,
    async () => {
      const read = await attemptRead(run, name, vaultId);
      if ("error" in read) return read;
      from = { vault_id: read.vaultId, version: read.version };
      return { output: read.value };
    },
    () => from,
  );
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Where a persona's policy says whether the run may have this secret at all. */
async function beforeSecretRead(_run: Run, _name: string): Promise<void> {}

type Read =
  | { value: string; vaultId: string; version: number }
  | { error: { code: string; message: string } };

async function attemptRead(run: Run, name: string, vaultId: string | undefined): Promise<Read> {
  const { tenant_id: tenantId, workspace_id: workspaceId, session_id: sessionId } = run.task;
  try {
    return await readFromVault(run.kernel, { tenantId, workspaceId, sessionId, name, vaultId });
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    return { error: { code: "secret_unavailable", message: error.message } };
  }
}

/** A step that gives a secret, however it comes by it. */
export async function readSecret(
  run: Run,
  span: StepSpan,
  recorded: JournalEntry | undefined,
  attempt: () => Promise<Attempted>,
  from: () => FromVault = () => undefined,
): Promise<JsonValue> {
  const failed = recorded?.ended?.event === "span.failed" ? recorded.ended.payload.result : null;
  // Code that went on without the secret must not find it there when it is run again.
  if (failed !== null && "error" in failed && !run.isReplay) {
    throw new AgentFailure(failed.error.code, failed.error.message);
  }
  const read = await run.readSecret(span.step, attempt);
  if ("output" in read) run.protect(textsIn(read.output));
  const withheld: Attempted = "error" in read ? read : { output: null };
  const fromVault = from();
  const noted = fromVault === undefined ? span : { ...span, from_vault: fromVault };
  if (recorded === undefined) await noteResult(run, noted, withheld);
  if ("error" in read) throw new AgentFailure(read.error.code, read.error.message);
  return read.output;
}
