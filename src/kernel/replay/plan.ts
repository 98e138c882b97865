/** From a request to a plan: everything that can be wrong with a replay is found here, before anything is created. */

import { hashOf } from "../../receipts/canonical.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { HarnessError } from "../core/errors.ts";
import { findPosition, type RecordedEvent } from "../core/events.ts";
import type { Unit } from "../core/unit.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import { type Part, textPart } from "../kinds/message.ts";
import {
  type LiveKind,
  liveKinds,
  type ReplayMode,
  type ReplayPlan,
  type Substitution,
} from "../kinds/replay.ts";
import type { Visibility } from "../kinds/resource.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { answerOf } from "../tasks/answers.ts";
import { artifactValues } from "./given-artifacts.ts";
import { acceptedAnswers, modelAnswerOf } from "./provider-answer.ts";
import { readSourceSteps, type SourceStep, stepFinder } from "./source-steps.ts";
import { asObject } from "./substitute.ts";

export const overrideKinds = [
  "llm_provider_response",
  "mcp_tool_return",
  "secret_value",
  "time",
  "host_fact",
  "tool_result",
  "event_payload",
  "checkpoint_value",
] as const;
export type OverrideKind = (typeof overrideKinds)[number];

export interface ReplayOverride {
  kind: OverrideKind;
  eventId?: string | null | undefined;
  value?: JsonValue | undefined;
  artifactId?: string | null | undefined;
  sha256?: string | null | undefined;
  visibility?: Visibility | undefined;
  reason?: string | null | undefined;
}

export interface ReplayRequest {
  mode: ReplayMode;
  override: Record<string, ReplayOverride>;
  checkpointId?: string | null | undefined;
  checkpointEventId?: string | null | undefined;
  reason?: string | null | undefined;
  allowLive: readonly string[];
  /** Another version of the agent than the source's. */
  agentVersion?: string | undefined;
}

/** Which kinds of values stand for which kinds of steps. */
const kindsOfStep: Record<string, readonly OverrideKind[]> = {
  llm: ["llm_provider_response"],
  mcp: ["mcp_tool_return", "tool_result"],
  host: ["host_fact", "tool_result"],
  step: ["tool_result", "host_fact"],
  tool: ["tool_result", "host_fact"],
  conversation: ["host_fact"],
  effect: ["tool_result"],
  secret: ["secret_value"],
  file: ["tool_result"],
  file_read: ["host_fact"],
  file_list: ["host_fact"],
  time: ["time"],
  random: ["host_fact"],
  ask: ["event_payload"],
  signal: ["event_payload", "tool_result"],
  approve: ["event_payload"],
  spawn: ["event_payload", "tool_result"],
  handoff: ["tool_result", "event_payload"],
  checkpoint: ["checkpoint_value"],
  memory: ["host_fact", "tool_result"],
};

/** The times of a task's life, which a replay's receipt takes from its source. */
export const lifecycleTimes = ["created_at", "started_at", "completed_at"] as const;
const lifecycleKeys: readonly string[] = lifecycleTimes.map((name) => `time:${name}`);

export interface Planned {
  plan: Omit<ReplayPlan, "substitutions">;
  substitutions: Record<string, Substitution>;
  secrets: Map<string, JsonValue>;
}

/** What a replay that is replayed was given: it is given again, but for what the request gives anew. */
export interface Inherited {
  mode: ReplayMode;
  checkpoint: string | null;
  substitutions: Record<string, Substitution>;
  /** Another than the source's. */
  agentVersion?: string;
}

export function planReplay(
  unit: Unit,
  source: TaskRecord,
  request: ReplayRequest,
  inherited?: Inherited,
): Planned {
  const { mode, reason = null } = request;
  const overrides = Object.entries(request.override);
  const allowLive = liveOf(request.allowLive);
  if (mode === "exact" && (overrides.length > 0 || allowLive.length > 0)) {
    throw invalid("override", "An exact replay takes no overrides and nothing live; use with_overrides.");
  }
  if (mode === "exact" && request.agentVersion !== undefined) {
    throw invalid(
      "metadata.agent_version",
      "An exact replay runs the version of its source; use with_overrides.",
    );
  }
  if (mode !== "from_checkpoint" && (request.checkpointId != null || request.checkpointEventId != null)) {
    throw invalid("checkpoint_id", `A checkpoint goes with the mode from_checkpoint, not with ${mode}.`);
  }
  const needsSteps = overrides.length > 0 || mode === "from_checkpoint";
  const steps = needsSteps
    ? unit.awaited(`steps of ${source.id}`, () => readSourceSteps(unit.own, source.id))
    : new Map<string, SourceStep>();
  const checkpoint = mode === "from_checkpoint" ? findCheckpoint(steps, request) : null;

  const substitutions: Record<string, Substitution> = { ...inherited?.substitutions };
  const secrets = new Map<string, JsonValue>();
  const secretOverrides: Record<string, string> = {};
  const artifactIds = overrides.flatMap(([, { artifactId }]) => artifactId ?? []);
  const inArtifact = (artifactId: string) => artifactValues(unit, artifactIds).get(artifactId);
  const find = stepFinder(steps);
  for (const [key, override] of overrides) {
    const meant = meantBy(steps, find, key);
    checkKind(key, override.kind);
    if (override.eventId != null) checkEvent(unit, source, key, override.eventId, meant);
    const value = givenValue(inArtifact, key, override);
    for (const step of meant) {
      const given = stepValue(step, key, value);
      if (checkpoint !== null && step.order <= checkpoint.order && step.key !== checkpoint.key) {
        throw invalid(`override.${key}`, `${step.key} comes before the checkpoint ${checkpoint.key}.`);
      }
      if (step.key.startsWith("secret:")) {
        secrets.set(step.key, given);
        secretOverrides[step.key] = key;
      } else substitutions[step.key] = substitutionOf(key, override, given, value);
    }
    if (lifecycleKeys.includes(key))
      substitutions[key] = substitutionOf(key, override, lifecycleTimeOf(key, value), value);
  }
  const isRepeatable = secrets.size === 0 && allowLive.length === 0;
  const effectiveMode = mode === "exact" ? (inherited?.mode ?? mode) : mode;
  const from = checkpoint?.key ?? inherited?.checkpoint ?? null;
  return {
    plan: {
      source_task_id: source.id,
      mode: effectiveMode,
      secret_overrides: secretOverrides,
      checkpoint: from,
      allow_live: allowLive,
      reason,
      segment: isRepeatable
        ? segmentOf(
            source.id,
            { mode: effectiveMode, agentVersion: request.agentVersion ?? inherited?.agentVersion },
            from,
            substitutions,
          )
        : unit.newId("live"),
    },
    substitutions,
    secrets,
  };
}

function segmentOf(
  sourceId: string,
  { mode, agentVersion }: Pick<ReplayRequest, "mode" | "agentVersion">,
  checkpoint: string | null,
  substitutions: Record<string, Substitution>,
): string {
  // Everything that a receipt says of an override; the value itself by its hash.
  const given = Object.fromEntries(
    Object.entries(substitutions).map(([key, { value: _, visibility: __, ...said }]) => [key, said]),
  );
  const how = {
    source_task_id: sourceId,
    mode,
    checkpoint,
    overrides: given,
    ...(agentVersion === undefined ? {} : { agent_version: agentVersion }),
  };
  return hashOf(how).slice("sha256:".length, 33);
}

function liveOf(names: readonly string[]): LiveKind[] {
  const unknown = names.find((name) => !liveKinds.some((kind) => kind === name));
  if (unknown !== undefined) {
    throw invalid(
      "metadata.allow_live",
      `Live may be ${liveKinds.join(", ")}; found ${JSON.stringify(unknown)}.`,
    );
  }
  return liveKinds.filter((kind) => names.includes(kind));
}

function meantBy(
  steps: ReadonlyMap<string, SourceStep>,
  find: ReturnType<typeof stepFinder>,
  key: string,
): SourceStep[] {
  const meant = find(key).filter((step) => kindsOfStep[kindOf(step.key)] !== undefined);
  if (meant.length > 0 || lifecycleKeys.includes(key)) return meant;
  const known = [...steps.keys()].filter((step) => kindsOfStep[kindOf(step)] !== undefined);
  throw new HarnessError("invalid_request", `The source has no step ${JSON.stringify(key)} to override.`, {
    param: `override.${key}`,
    details: { known_keys: [...known.slice(0, knownMax), ...lifecycleKeys], known_count: known.length },
  });
}

/** Keys listed in an error; a run can have any number. */
const knownMax = 500;

function kindOf(key: string): string {
  return key.split(":", 1)[0] ?? "";
}

function checkKind(key: string, kind: OverrideKind): void {
  const allowed = kindsOfStep[kindOf(key)] ?? [];
  if (allowed.includes(kind)) return;
  throw invalid(`override.${key}.kind`, `${key} is overridden by ${allowed.join(" or ")}, not by ${kind}.`);
}

/** The event in which the step was recorded; for a time of the task's life, any event of the task. */
function checkEvent(
  unit: Unit,
  source: TaskRecord,
  key: string,
  eventId: string,
  meant: readonly SourceStep[],
): void {
  if (meant.some((step) => step.eventIds.includes(eventId))) return;
  const position = lifecycleKeys.includes(key) ? findPosition(eventId) : null;
  if (position !== null) {
    const [event] = unit.events({ after: position - 1, through: position, limit: 1 });
    if (event?.taskId === source.id) return;
  }
  const events = meant.flatMap((step) => step.eventIds).slice(0, knownMax);
  throw new HarnessError("invalid_request", `Event ${eventId} is not what ${key} was recorded in.`, {
    param: `override.${key}.event_id`,
    details: { event_ids: events },
  });
}

/** The value as the caller gave it, whichever way, checked against the hash if there is one. */
function givenValue(
  inArtifact: (artifactId: string) => JsonValue | undefined,
  key: string,
  override: ReplayOverride,
): JsonValue {
  const { value, artifactId, sha256 } = override;
  if ((value === undefined) === (artifactId == null)) {
    throw invalid(`override.${key}`, `Give ${key} either a value or an artifact_id.`);
  }
  const given = (artifactId == null ? value : inArtifact(artifactId)) ?? null;
  const found = hashWellFormed(given, hashOf);
  if (sha256 == null || sha256 === found) return given;
  throw new HarnessError(
    "invalid_request",
    `The value of ${key} does not have the hash that was given with it.`,
    {
      param: `override.${key}.sha256`,
      // The hash of a short secret is as good as the secret.
      details: kindOf(key) === "secret" ? {} : { expected: sha256, found },
    },
  );
}

/** The value as the step's code will get it. */
function stepValue({ key, begun }: SourceStep, overrideKey: string, value: JsonValue): JsonValue {
  switch (kindOf(key)) {
    case "time":
      return instantOf(overrideKey, value);
    case "approve":
      if (typeof asObject(value).approved === "boolean") return value;
      throw invalid(
        `override.${overrideKey}.value`,
        'An approval is {"approved": true} or {"approved": false}.',
      );
    case "ask": {
      const schema = begun?.event === "task.input_required" ? begun.payload.request.schema : null;
      assertAnswer(overrideKey, value, schema);
      return value;
    }
    case "llm":
      return isModelCall(begun) ? modelAnswer(overrideKey, begun, value) : value;
    default:
      return value;
  }
}

type ModelCallBegun = Extract<RecordedEvent, { event: "span.started" }>;

/** A call of `ctx.model`; steps of the agent's own code that call models give whatever that code gives. */
function isModelCall(begun: RecordedEvent | null): begun is ModelCallBegun {
  return begun?.event === "span.started" && begun.payload.model_call !== undefined;
}

function modelAnswer(overrideKey: string, { payload }: ModelCallBegun, value: JsonValue): JsonValue {
  const answer = modelAnswerOf(value);
  if (answer !== null) return answer;
  // A call that asked for JSON is answered with it.
  if (payload.model_call?.settings.output !== undefined) return value;
  throw invalid(`override.${overrideKey}.value`, `The answer of a model is ${acceptedAnswers}.`);
}

/** Text is kept as it was written: its hash is of that. */
function lifecycleTimeOf(key: string, value: JsonValue): JsonValue {
  const ms = instantOf(key, value);
  return typeof value === "string" ? value : ms;
}

function assertAnswer(overrideKey: string, value: JsonValue, schema: JsonObject | null): void {
  const part: Part =
    typeof value === "string" ? textPart(value) : { type: "json", value, visibility: "public" };
  try {
    answerOf([part], schema);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    throw invalid(`override.${overrideKey}.value`, error.message);
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
/** What a receipt can say: the years 0000 to 9999. */
const [instantMin, instantMax] = [Date.parse("0000-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/** A time is given as RFC 3339 or in milliseconds since 1970, and read by the agent as the latter. */
function instantOf(key: string, value: JsonValue): number {
  const ms = typeof value === "string" && rfc3339.test(value) ? Date.parse(value) : value;
  if (typeof ms === "number" && ms >= instantMin && ms <= instantMax) return ms;
  throw invalid(`override.${key}.value`, "A time is RFC 3339 text or milliseconds since 1970.");
}

function substitutionOf(
  key: string,
  { visibility = "receipt_only", reason = null, artifactId = null, eventId }: ReplayOverride,
  value: JsonValue,
  given: JsonValue,
): Substitution {
  return {
    override_key: key,
    value,
    sha256: hashWellFormed(given, hashOf),
    visibility,
    reason,
    artifact_id: artifactId,
    ...(eventId == null ? {} : { event_id: eventId }),
  };
}

/** A checkpoint is named by its step, by the name the agent gave it, or by one of its events. */
function findCheckpoint(
  steps: ReadonlyMap<string, SourceStep>,
  { checkpointId, checkpointEventId }: ReplayRequest,
): SourceStep {
  const checkpoints = [...steps.values()].filter((step) => /^(checkpoint|ask|approve):/.test(step.key));
  if (checkpointId == null && checkpointEventId == null) {
    throw invalid("checkpoint_id", "from_checkpoint needs a checkpoint_id or a checkpoint_event_id.");
  }
  const found = checkpoints.find(({ key, eventIds }) =>
    checkpointEventId != null
      ? eventIds.includes(checkpointEventId)
      : key === checkpointId || key === `checkpoint:${checkpointId}:1`,
  );
  if (found !== undefined) return found;
  const [param, given] =
    checkpointEventId != null ? ["checkpoint_event_id", checkpointEventId] : ["checkpoint_id", checkpointId];
  throw new HarnessError("invalid_request", `The source has no checkpoint ${JSON.stringify(given)}.`, {
    param: param ?? "checkpoint_id",
    details: { known_checkpoints: checkpoints.map(({ key }) => key).slice(0, knownMax) },
  });
}

function invalid(param: string, message: string): HarnessError {
  return new HarnessError("invalid_request", message, { param });
}
