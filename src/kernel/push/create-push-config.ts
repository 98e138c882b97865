/**
 * Register a webhook that is told what happens to a task, or put another in the place of the one with the same name. What
 * is still to be told stays to be told, so a webhook that was given up goes on where it failed.
 */

import { mayUse } from "../../policy/caller.ts";
import { OutboundRefused } from "../../policy/outbound.ts";
import { newDataKey, sealSecret } from "../../policy/vault-crypto.ts";
import type { AuditDetails } from "../../receipts/audit-record.ts";
import { requireScope } from "../access/authorize.ts";
import { readScope } from "../access/read-scopes.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { eventId } from "../core/events.ts";
import { traceOfTask } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import {
  type PushConfigRecord,
  type PushSecrets,
  type PushState,
  type PushVersion,
  pushConfigId,
} from "../kinds/push-config.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { assertNotErased } from "../retention/erasure/assert-not-erased.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { currentMasterKey, wrapFor, wrappingLock } from "../vaults/vaults.ts";

export interface PushConfigInput {
  /** What the client calls it; it is given a name when it has none. */
  id?: string | undefined;
  url: string;
  token?: string | undefined;
  authentication?: { scheme: string; credentials?: string | undefined } | undefined;
  version: PushVersion;
  /** Where in a request it stands, for errors that name its fields. */
  path?: string | undefined;
}

/** Every one of them is told everything. */
const configsPerTaskMax = 10;
const idCharsMax = 256;
const urlCharsMax = 2048;
const secretCharsMax = 4096;
const schemeCharsMax = 64;

/** A token of RFC 9110: what can stand before the credentials. */
const schemePattern = /^[\w!#$%&'*+.^`|~-]+$/;
/** What can stand in a header and comes out as it went in. */
const headerPattern = /^[!-~](?:[ -~]*[!-~])?$/;

export const createPushConfig: Command<{ taskId: string; config: PushConfigInput }, PushConfigRecord> = {
  name: "create_push_config",
  scope: "tasks:write",
  audit: (_, config) => audited("webhook.create", config, webhookFacts(config.task_id, config.url)),
  decide(unit, { taskId, config }) {
    // A busy run would otherwise be faster again and again.
    unit.hold(taskId);
    return addPushConfig(unit, unit.require("task", taskId), config);
  },
  // A plain hash of a short secret is as good as the secret.
  fingerprint: (deps, canonical) => {
    currentMasterKey(deps);
    return deps.masterKeys.fingerprint(canonical);
  },
};

/** Where it goes, without what its path or query may hold. */
export function webhookFacts(taskId: string, url: string): AuditDetails {
  return { task_id: taskId, host: URL.parse(url)?.host ?? null };
}

/** The same inside another command: the webhook is there from the first event of the same commit on. */
export function addPushConfig(unit: Unit, task: TaskRecord, input: PushConfigInput): PushConfigRecord {
  // A webhook receives what reading the task would show.
  requireScope(unit.caller, readScope.task);
  assertInput(unit, input, (field) => (input.path === undefined ? field : `${input.path}.${field}`));
  assertTakesWebhooks(unit, task);
  const { id: configId = unit.newId("pushcfg"), url, authentication } = input;
  const id = pushConfigId(task.id, configId);
  unit.hold(`push_configs:${task.id}`);
  const known = unit.findIncludingDeleted("push_config", id);
  const before = known?.deleted_at === null ? known : undefined;
  if (before === undefined) assertRoom(unit, task.id);
  const envelope = { ...unit.envelope("push_config", "push"), id };
  const state = stateAfter(task, before);
  const push_config: PushConfigRecord = {
    ...envelope,
    created_at: known?.created_at ?? envelope.created_at,
    metadata: {},
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    config_id: configId,
    revision: (known?.revision ?? 0) + 1,
    url,
    auth_scheme: authentication?.scheme ?? null,
    protocol_version: input.version,
    with_history: mayUse(unit.caller, "messages:read"),
    with_artifacts: mayUse(unit.caller, "artifacts:read"),
    trace: traceOfTask(unit.deps.tracing, task),
    ...sealFor(unit, envelope, state, input),
    ...unit.madeBy,
    state,
    delivered_through_event_id: before?.delivered_through_event_id ?? eventId(unit.head()),
    delivered_count: before?.delivered_count ?? 0,
    attempts: 0,
    next_attempt_at: null,
    last_error: null,
    deleted_at: null,
  };
  const fact = known === undefined ? "created" : "replaced";
  return unit.emit(push_config, `vendor.bridle.push_config.${fact}`, { push_config });
}

/** One for a task that has ended is there and has nothing to tell. */
function stateAfter(task: TaskRecord, before: PushConfigRecord | undefined): PushState {
  const isOver = before === undefined ? isFinal(task.status) : before.state === "ended";
  return isOver ? "ended" : "active";
}

function sealFor(
  unit: Unit,
  owner: { id: string; tenant_id: string },
  state: PushState,
  { url, token, authentication }: PushConfigInput,
): Pick<PushConfigRecord, "sealed_secrets" | "data_key"> {
  if (state !== "active") return { sealed_secrets: "", data_key: null };
  const secrets: PushSecrets = {
    url,
    token: token ?? null,
    credentials: authentication?.credentials ?? null,
  };
  unit.hold(wrappingLock);
  const dataKey = newDataKey();
  return {
    sealed_secrets: sealSecret(dataKey, JSON.stringify(secrets), [owner.tenant_id, owner.id]),
    data_key: wrapFor(unit.deps, owner, dataKey, 1),
  };
}

/** What a field is called in the request. */
type NameOf = (field: string) => string;

function assertInput(unit: Unit, config: PushConfigInput, nameOf: NameOf): void {
  const { id, url, token, authentication } = config;
  if (id !== undefined) assertId(unit, id, nameOf("id"));
  assertUrl(unit, url, nameOf("url"));
  if (token !== undefined) assertHeader(token, nameOf("token"));
  if (authentication === undefined) return;
  const { scheme, credentials } = authentication;
  if (scheme.length > schemeCharsMax || !schemePattern.test(scheme)) {
    throw invalid(
      nameOf("authentication.scheme"),
      `must be the name of an HTTP authentication scheme, such as Bearer, of at most ${schemeCharsMax} characters`,
    );
  }
  const param = nameOf("authentication.credentials");
  if (credentials !== undefined) assertHeader(credentials, param);
  else if (scheme.toLowerCase() !== "bearer") {
    throw invalid(param, "may be left out for the scheme Bearer only");
  }
}

function assertId({ redactor }: Unit, id: string, param: string): void {
  const isFine = id !== "" && id.length <= idCharsMax && /^\P{C}+$/u.test(id) && redactor.text(id) === id;
  if (isFine) return;
  throw invalid(
    param,
    `must have 1 to ${idCharsMax} characters, none of them invisible, and be no secret itself`,
  );
}

function assertUrl({ deps }: Unit, url: string, param: string): void {
  if (url.length > urlCharsMax) throw invalid(param, `must not have more than ${urlCharsMax} characters`);
  try {
    deps.outbound.check(url);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    throw invalid(param, `cannot be a webhook. ${error.message.replace(/\.$/, "")}`);
  }
}

function assertHeader(value: string, param: string): void {
  if (value.length <= secretCharsMax && headerPattern.test(value)) return;
  throw invalid(
    param,
    `must have 1 to ${secretCharsMax} printable ASCII characters and no space at its ends`,
  );
}

function assertTakesWebhooks(unit: Unit, task: TaskRecord): void {
  assertNotErased(unit.require("session", task.session_id));
  if (task.trimmed === undefined) return;
  throw new HarnessError(
    "conflict",
    `Task ${task.id} has left the log by age: there is nothing to tell of it.`,
    {
      details: { task_id: task.id },
    },
  );
}

function assertRoom(unit: Unit, taskId: string): void {
  const live = unit.list({
    kind: "push_config",
    by: { taskId },
    statuses: ["live"],
    order: "oldest_first",
    limit: configsPerTaskMax,
  });
  if (live.length < configsPerTaskMax) return;
  throw new HarnessError(
    "policy_violation",
    `Task ${taskId} has ${configsPerTaskMax} push configs, and cannot have more.`,
    { details: { task_id: taskId } },
  );
}

function invalid(param: string, problem: string): HarnessError {
  return new HarnessError("invalid_request", `${param} ${problem}.`, { param });
}
