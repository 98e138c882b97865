/** Who signed in to the console, and out of it, in the audit log. */

import { type Caller, systemCaller } from "../../policy/caller.ts";
import { runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { KernelDeps } from "../core/unit.ts";
import { noteAudit } from "./note.ts";
import type { AuditFacts } from "./record.ts";

export async function noteSignIn(deps: KernelDeps, caller: Caller, by: "key" | "link"): Promise<void> {
  await note(deps, caller, { action: "console.sign_in", resource: null, details: { by } });
}

export async function noteSignOut(deps: KernelDeps, caller: Caller): Promise<void> {
  await note(deps, caller, { action: "console.sign_out", resource: null });
}

/** A disk that takes no writes must not keep operators from looking. */
async function note(deps: KernelDeps, caller: Caller, facts: AuditFacts): Promise<void> {
  try {
    await runCommand(deps, noteAudit, systemCaller(caller.tenantId), { ...facts, by: caller });
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== "service_unavailable") throw error;
  }
}
