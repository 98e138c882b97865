/** Secrets of a run. A secret is read whenever the run is: the log says that it was read, never what it was. */

import { HarnessError } from "../../kernel/core/errors.ts";
import type { EventPayloads, StepSpan } from "../../kernel/core/events.ts";
import { secretName } from "../../kernel/kinds/vault.ts";
import { requireCapability } from "../../kernel/personas/persona-policy.ts";
import { readSecret as readFromVault } from "../../kernel/vaults/read-secret.ts";
import { textsIn } from "../../policy/redact/texts-in.ts";
import type { JsonValue } from "../../store/port.ts";
import { AgentFailure } from "../run/failures.ts";
import { allowed, noteResult } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";

type FromVault = NonNullable<EventPayloads["span.completed"]["from_vault"]>;

/** What a read gives, and from where. */
type Read = Attempted & { from?: FromVault };

/** `ctx.secret`. */
export async function secret(run: Run, name: string, vaultId: string | undefined): Promise<string> {
  if (!secretName.test(name) || run.redactor.text(name) !== name) {
    throw new AgentFailure("secret_unavailable", "What was asked for is not the name of a secret.");
  }
  const span: StepSpan = { step: run.key(`secret:${name}`), kind: "secret", name };
  await beforeSecretRead(run, span);
  const value = await readSecret(run, span, () => attemptRead(run, name, vaultId));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The persona says whether the run may have secrets, or this one. */
async function beforeSecretRead(run: Run, span: StepSpan): Promise<void> {
  await allowed(run, span, () => requireCapability(run.task, "secrets", `secret:${span.name}`));
}

async function attemptRead(run: Run, name: string, vaultId: string | undefined): Promise<Read> {
  const { tenant_id: tenantId, workspace_id: workspaceId, session_id: sessionId } = run.task;
  try {
    const read = await readFromVault(run.kernel, { tenantId, workspaceId, sessionId, name, vaultId });
    return { output: read.value, from: { vault_id: read.vaultId, version: read.version } };
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    return { error: { code: "secret_unavailable", message: error.message } };
  }
}

/** A step that gives a secret, however it comes by it. */
export async function readSecret(run: Run, span: StepSpan, attempt: () => Promise<Read>): Promise<JsonValue> {
  const recorded = await run.recording.recallBegun(span.step);
  const failed = recorded?.ended?.event === "span.failed" ? recorded.ended.payload.result : null;
  // Code that went on without the secret must not find it there when it is run again.
  if (failed !== null && "error" in failed && !run.recording.isReplay) {
    await run.recording.turnOf(span.step);
    throw new AgentFailure(failed.error.code, failed.error.message);
  }
  const read: Read = await run.recording.readSecret(span.step, attempt);
  if (recorded?.ended != null) await run.recording.turnOf(span.step);
  if ("output" in read) run.protect(textsIn(read.output));
  if (recorded === undefined) await noteRead(run, span, read);
  if ("error" in read) throw new AgentFailure(read.error.code, read.error.message);
  return read.output;
}

async function noteRead(run: Run, span: StepSpan, read: Read): Promise<void> {
  const withheld: Attempted = "error" in read ? read : { output: null };
  const from = read.from === undefined ? {} : { from_vault: read.from };
  await noteResult(run, span, withheld, {}, () => from);
}

/** For a tool, in the middle of its step: the record of the step is all that the log has of it. */
export async function secretForTool(run: Run, name: string): Promise<string> {
  requireCapability(run.task, "secrets", `secret:${name}`);
  const read = await attemptRead(run, name, undefined);
  if ("error" in read) throw new AgentFailure(read.error.code, read.error.message);
  run.protect(textsIn(read.output));
  return typeof read.output === "string" ? read.output : JSON.stringify(read.output);
}
