/**
 * `ctx.shell`: the shell that started the task. A directive that is waited for is a host call which the shell is told of
 * with its next response and ends with its next request; one that is only shown is noted like progress. What the shell says of
 * its surroundings is read in a step; of secret state the step records a descriptor, and the state is had from memory.
 */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { unseal } from "../../kernel/core/content.ts";
import type { StepSpan } from "../../kernel/core/events.ts";
import { type ShellLinkRecord, shellLinkIdOf } from "../../kernel/kinds/shell-link.ts";
import { protectedValues } from "../../kernel/openharness/protected-values.ts";
import { namesCapability } from "../../kernel/personas/persona-policy.ts";
import { capabilityPattern, shellPrefix } from "../../kernel/tasks/host-calls.ts";
import { lazy } from "../../lazy.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type {
  AgentShell,
  ApprovalRequest,
  DirectiveOutcome,
  ShellDirective,
  ShellEnvironment,
  StepContext,
} from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import { guarded } from "../run/promises.ts";
import { performStep } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";
import { runningKind } from "../run/step-context.ts";
import { hostCall } from "./host.ts";

/** Shown, and that is all. */
const shownTypes: ReadonlySet<string> = new Set(["render_ui", "render_message", "noop"]);
/** Has the shell send its state again, which changes nothing anywhere. */
const environmentRequest = "com.bridle.environment.request";
/** What lets code that speaks to a model have secret state. */
const modelCapability = "environment:model";

const Directive = Type.Object({
  action_type: Type.String({ pattern: capabilityPattern, maxLength: 90 }),
  payload: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  priority: Type.Optional(Type.Enum(["low", "normal", "high", "critical"])),
  execution: Type.Optional(Type.Enum(["sequential", "parallel"])),
  risk_tier: Type.Optional(Type.Enum(["safe", "caution", "dangerous"])),
  requires_user_approval: Type.Optional(Type.Boolean()),
  deadline_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  extensions: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
const directives = lazy(() => Compile(Directive));

const Outcome = Type.Object({
  status: Type.String(),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(
    Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()]),
  ),
});
const outcomes = lazy(() => Compile(Outcome));

const riskOf = { safe: "low", caution: "medium", dangerous: "dangerous" } as const satisfies Record<
  NonNullable<ShellDirective["risk_tier"]>,
  ApprovalRequest["risk"]
>;

export function shellOf(run: Run): AgentShell {
  const { shell } = run.task;
  return guarded<AgentShell>({
    isPresent: shell !== undefined,
    identity: shell === undefined ? null : jsonCopy(shell.identity),
    hint: shell === undefined ? {} : jsonCopy(shell.hint),
    directive: (directive) => giveDirective(run, directive),
    environment: () => (shell === undefined ? Promise.resolve(null) : readEnvironment(run)),
  });
}

async function giveDirective(
  run: Run,
  { expects_outcome, expiresInMs, ...given }: ShellDirective,
): Promise<DirectiveOutcome> {
  if (run.task.shell === undefined) {
    throw new AgentFailure("no_shell", "This task was not started by a shell, so there is none to direct.");
  }
  const directive = checked(run, given);
  const { action_type: type, risk_tier: risk } = directive;
  const isShown = shownTypes.has(type);
  if (!(expects_outcome ?? !isShown)) return await show(run, type, directive);
  const output = await hostCall(run, shellPrefix + type, directive as JsonObject, {
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    ...(risk === undefined ? {} : { risk: riskOf[risk] }),
    readOnly: isShown || type === environmentRequest,
  });
  return outcomeOf(output);
}

function checked(run: Run, given: object): Static<typeof Directive> {
  const directive: unknown = jsonCopy(given);
  if (!directives().Check(directive)) {
    const [, [problem]] = directives().Errors(directive);
    throw new AgentFailure(
      "invalid_directive",
      `A directive needs an action_type such as com.example.open, and members of the right kinds: ${problem?.instancePath} ${problem?.message}.`,
    );
  }
  // It becomes part of a step's key, which is written down.
  if (run.redactor.text(directive.action_type) !== directive.action_type) {
    throw new AgentFailure("invalid_directive", "What was given as action_type is a secret.");
  }
  return directive;
}

async function show(run: Run, type: string, directive: Static<typeof Directive>): Promise<DirectiveOutcome> {
  const step = run.key(`directive:${type}`);
  if ((await run.recording.recall(step)) === undefined) {
    await run.recording.note((unit, task) =>
      unit.emit(task, "span.updated", { step, directive: unit.seal(directive as JsonObject) }),
    );
  }
  return { status: "shown", result: null, error: null };
}

/** What is no outcome stands for one: the persona's autonomy put it there. */
function outcomeOf(output: JsonValue): DirectiveOutcome {
  if (!outcomes().Check(output)) return { status: "simulated", result: null, error: null };
  const { status, result = null, error = null } = output;
  return { status: status as DirectiveOutcome["status"], result: result as JsonValue, error };
}

const Described = Type.Union([
  Type.Object({
    tier: Type.Enum(["public", "restricted"]),
    state: Type.Record(Type.String(), Type.Unknown()),
  }),
  Type.Object({ tier: Type.Literal("secret"), keyed_hash: Type.String() }),
]);
const described = lazy(() => Compile(Described));

/** Each time as the shell said it last, and again as it was then when the run is repeated. */
async function readEnvironment(run: Run): Promise<ShellEnvironment | null> {
  const name = `${shellPrefix}environment`;
  const span: StepSpan = { step: run.key(`host:${name}`), kind: "host", name };
  const read = await performStep(run, span, () => currentEnvironment(run));
  if (!described().Check(read)) return null;
  if ("state" in read) {
    const state = read.state as JsonObject;
    return { tier: read.tier, state, reveal: () => state };
  }
  const { keyed_hash: keyedHash } = read;
  const held = () => run.kernel.heldStates.find(run.task.id, keyedHash);
  const state = held();
  if (state !== undefined) protect(run, state);
  return { tier: "secret", state: null, reveal: (step) => reveal(run, step, held) };
}

async function currentEnvironment({ own, task }: Run): Promise<Attempted> {
  const document = await own.get("shell_link", shellLinkIdOf(task.id));
  const { environment = null } = (document?.body as ShellLinkRecord | undefined) ?? {};
  if (environment === null) return { output: null };
  if (environment.tier === "secret") return { output: environment };
  return { output: { tier: environment.tier, state: await unseal(environment.state, own) } };
}

function protect(run: Run, state: JsonObject): void {
  run.protect(protectedValues(state, JSON.stringify(run.task), run.kernel.clock.now()));
}

function reveal(run: Run, step: StepContext, held: () => JsonObject | undefined): JsonObject {
  const kind = runningKind(step);
  if (kind === undefined) {
    throw new AgentFailure(
      "environment_in_step_only",
      "Secret state is there while a step runs: call reveal with what the step's code was given.",
    );
  }
  if (kind === "llm" && !namesCapability(run.task, modelCapability)) {
    throw new AgentFailure(
      "policy_violation",
      `Secret state is not for models, unless the persona's capabilities name ${modelCapability}.`,
    );
  }
  const state = held();
  if (state !== undefined) return jsonCopy(state);
  throw new AgentFailure(
    "environment_gone",
    "The shell's secret state is no longer held: the server was restarted, or it is too long ago. Ask for it again.",
  );
}
