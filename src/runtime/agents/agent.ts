/** What an agent is and what it is given: the types that authors write against. */

import type { TSchema } from "typebox";
import type { FileEntry } from "../../files/workspace-files.ts";
import type { StepKind } from "../../kernel/core/events.ts";
import type { ArtifactKind } from "../../kernel/kinds/artifact.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { Visibility } from "../../kernel/kinds/resource.ts";
import type { ShellIdentity } from "../../kernel/kinds/shell-link.ts";
import type { AgentCardInfo } from "../../kernel/personas/agents.ts";
import type { ModelMessage } from "../../models/messages.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { RetryOptions } from "../../tools/retry.ts";
import { type GivenOf, jsonSchemaOf, type Schema, type ValueOf } from "../../tools/schema.ts";
import type { ContextTool, ToolDefinition } from "../../tools/tool.ts";
import { toolPattern } from "../../tools/tool.ts";
import { assertCard, assertSkill } from "./agent-card.ts";
import type { AgentModel, AgentPersona, AvailableTool } from "./agent-model.ts";

export interface Skill {
  id: string;
  name?: string;
  description: string;
  input?: Schema;
  output?: Schema;
  /** Words to find it by; the words of its id unless said. */
  tags?: readonly string[];
  /** Prompts that it is for. */
  examples?: readonly string[];
  /** Media types, where they are not those of the agent's card. */
  inputModes?: readonly string[];
  outputModes?: readonly string[];
}

/** Something that the agent calls, described for those who want to know beforehand. */
export interface Tool {
  name: string;
  description: string;
  input?: Schema;
  output?: Schema;
}

/** What other agents are told, and how they are dealt with. Everything has a default that suits most agents. */
export interface AgentCard {
  /** Lets everybody use the agent without credentials, in a tenant of the operator's choice. Off unless said. */
  public?: boolean | { tenantId?: string; requestsPerMinute?: number };
  /** Media types that it takes and gives; plain text, Markdown and JSON unless said. */
  inputModes?: string[];
  outputModes?: string[];
  streaming?: boolean;
  pushNotifications?: boolean;
  extendedCard?: AgentCardInfo["extendedCard"];
  extensions?: { uri: string; description?: string; required?: boolean; params?: JsonObject }[];
  /** Who offers the agent, and where there is more about it. */
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  /** Whether its answer is a message instead of a task that ended. */
  answersWithMessage?: boolean;
}

export interface Agent {
  /** Lower-case letters, digits and dashes: it becomes part of ids. */
  name: string;
  version: string;
  description?: string;
  /** What a task's input must be: an object of this schema. Where there is none, the only skill's `input` is taken. */
  input?: Schema;
  skills?: readonly Skill[];
  /** Those with code can be called by `ctx.tool` and by models; others are only described. */
  tools?: readonly (Tool | ToolDefinition | ContextTool<AgentContext>)[];
  card?: AgentCard;
  /** In the persona that it has from the start only signatures of paired approvers count (`channel: "harp"`). */
  signedApprovals?: boolean;
  /** What it returns is the task's result: text, or anything that is JSON. Throwing fails the task. */
  run(ctx: AgentContext): Promise<JsonValue | undefined>;
}

/** What tasks are given: by the agent's own schema, or its only skill's. Other input is refused before the code runs. */
export type InputOf<Input extends Schema, Skills extends readonly Skill[]> = TSchema extends Input
  ? Skills extends readonly [{ readonly input: infer Only extends Schema }]
    ? ValueOf<Only>
    : JsonObject
  : ValueOf<Input>;

/** The input of a task is an object, so a schema of anything else would refuse all of them. */
type OfObjects<Input extends Schema> =
  unknown extends GivenOf<Input> ? unknown : GivenOf<Input> extends object ? unknown : never;

/** An agent as it is written: `ctx.input` has the type that its schema says. */
export interface AgentDefinition<Input extends Schema, Skills extends readonly Skill[]>
  extends Omit<Agent, "input" | "skills" | "run"> {
  input?: Input & OfObjects<Input>;
  skills?: Skills;
  run(ctx: AgentContext<InputOf<Input, Skills>>): Promise<JsonValue | undefined>;
}

const namePattern = /^[a-z][a-z0-9-]{0,62}$/;

export function defineAgent<
  Input extends Schema = TSchema,
  const Skills extends readonly Skill[] = readonly Skill[],
>(definition: AgentDefinition<Input, Skills>): Agent;
export function defineAgent(agent: Agent): Agent {
  if (!namePattern.test(agent.name)) {
    throw new TypeError(
      `An agent's name is lower-case letters, digits and dashes; found ${JSON.stringify(agent.name)}.`,
    );
  }
  if (agent.version === "") throw new TypeError(`Agent ${agent.name} needs a version.`);
  const names = (agent.tools ?? []).map((tool) => tool.name);
  const misnamed = names.find((name, index) => !toolPattern.test(name) || names.indexOf(name) !== index);
  if (misnamed !== undefined) {
    throw new TypeError(
      `A tool of agent ${agent.name} needs a name of its own, of letters, digits, dots, dashes and underscores; found ${JSON.stringify(misnamed)}.`,
    );
  }
  assertSchemas(agent);
  if (agent.card !== undefined) assertCard(agent.name, agent.card);
  for (const skill of agent.skills ?? []) assertSkill(agent.name, skill);
  return agent;
}

/** A schema that cannot be described is refused where it is written, not when the server starts. */
function assertSchemas({ name, input, skills = [], tools = [] }: Agent): void {
  try {
    for (const described of [{ input }, ...skills, ...tools]) {
      jsonSchemaOf(described.input);
      if ("output" in described) jsonSchemaOf(described.output);
    }
  } catch (error) {
    throw new TypeError(`Agent ${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a step's code is given. */
export interface StepContext {
  signal: AbortSignal;
  /** Counts the attempts of this step: 1 is the first. */
  attempt: number;
  /** The same on every attempt of this step: for services that can recognize a repeated call. */
  idempotencyKey: string;
  /** The headers `traceparent` and `tracestate` for requests that the code makes; none when nobody follows the task. */
  traceHeaders: Readonly<Record<string, string>>;
}

/** A step is tried three times by default. With `retries: 0` it is tried once. */
export interface StepOptions extends RetryOptions {
  /**
   * What the code reaches out to: it names the step's key (`llm:<name>:<n>`), and with it the receipt's materials and
   * what a replay can put in its place. What a `secret` step gives is never written down: the code runs again whenever
   * the run does, and the value is taken out of everything that the run records.
   */
  kind?: StepKind;
  /** Of an `llm` step: `provider/model`, and the most tokens that it asks for. The persona's model policy is about these. */
  model?: string;
  maxTokens?: number;
}

/**
 * An effect is tried once by default: one that has retries must recognize a repeated call by its `idempotencyKey`. Under an approval, a
 * process that dies between two attempts does not try again.
 */
export interface EffectOptions extends RetryOptions {
  /** What it is done with, as it is shown to whoever approves it. */
  payload?: JsonValue;
  risk?: NonNullable<ApprovalRequest["risk"]>;
  /** How long an approval may take, where one is needed. */
  expiresInMs?: number;
  /** What the agent is given when its persona's autonomy does not let it act: null unless said. */
  simulate?: JsonValue;
}

/** What became of a side effect: it was done, or only noted, or proposed to people as an artifact. */
export interface EffectOutcome<T> {
  outcome: "done" | "simulated" | "proposed";
  output: T;
  artifactId: string | null;
}

/** What work has cost, beside the calls and the time that are counted anyway. */
export interface Spending {
  inputTokens?: number;
  outputTokens?: number;
  usd?: number;
}

export interface HostOptions {
  /** How long a host has to answer, counted from the call; seven days when left out. */
  expiresInMs?: number;
  /** The call only looks: the persona's autonomy, which is about changing things, does not hold it up. */
  readOnly?: boolean;
}

/** Something for the shell to show or to do, in the protocol's own words. */
export interface ShellDirective {
  /** A core type (`render_ui`, `simulate_action`, …) or one with a name of its own: `com.example.open`. */
  action_type: string;
  /** For a type with a name of its own, `fallback_message` is what shells show that do not know it. */
  payload?: JsonObject;
  priority?: "low" | "normal" | "high" | "critical";
  execution?: "sequential" | "parallel";
  risk_tier?: "safe" | "caution" | "dangerous";
  requires_user_approval?: boolean;
  /** How long the shell has, from when it receives it. */
  deadline_ms?: number;
  extensions?: JsonObject;
  /** Whether to wait for what becomes of it: always, unless it is only shown (`render_ui`, `render_message`, `noop`). */
  expects_outcome?: boolean;
  /** How long the shell may stay away; seven days when left out. */
  expiresInMs?: number;
}

/**
 * What became of a directive. `unreported`: the shell came back without saying; `shown`: nobody waited for more;
 * `simulated`: the persona's autonomy did not let it happen.
 */
export type DirectiveOutcome = {
  status: "completed" | "declined" | "failed" | "skipped" | "expired" | "unreported" | "shown" | "simulated";
  result: JsonValue;
  error: { code: string; message: string } | null;
};

export interface ShellEnvironment {
  tier: "public" | "restricted" | "secret";
  /** What the shell said; null when it is secret. */
  state: JsonObject | null;
  /**
   * The same also when it is secret: inside of a step, and while it is held. Throws `environment_gone` after a restart, which the
   * step records, so that the agent can ask the shell again.
   */
  reveal(step: StepContext): JsonObject;
}

/** The shell that started the task, if one did. */
export interface AgentShell {
  readonly isPresent: boolean;
  readonly identity: ShellIdentity | null;
  /** The shell's `task_hint`. */
  readonly hint: JsonObject;
  /** Has the shell show or do something. Throws `no_shell` where there is none. */
  directive(directive: ShellDirective): Promise<DirectiveOutcome>;
  /** What the shell said last of its surroundings; null when it said nothing. */
  environment(): Promise<ShellEnvironment | null>;
}

/** What other agents are told of a message beside its content. */
export interface SayOptions {
  metadata?: JsonObject;
  /** URIs of the extensions that the message uses. */
  extensions?: readonly string[];
}

/** A part of a message with what its sender said of it. */
export type ReceivedPart = Part & { filename?: string; metadata?: JsonObject };

/** The message that the task began with, as its sender sent it. */
export interface ReceivedMessage {
  /** What the sender calls it. */
  id: string;
  metadata: JsonObject;
  parts: readonly ReceivedPart[];
  /** Tasks that the sender says it is about. */
  referenceTaskIds: readonly string[];
  extensions: readonly string[];
  /** Media types that the sender takes as an answer; none where everything will do. */
  acceptedOutputModes: readonly string[];
}

export interface ApprovalRequest {
  /** What is to be done, in a few words. */
  action: string;
  payload?: JsonValue;
  risk?: "low" | "medium" | "high" | "dangerous";
  expiresInMs?: number;
  /** What an approver may sign for beyond one use, until the request expires. Whoever uses the approval counts the uses. */
  offer?: "timebox" | "session";
}

export interface ArtifactInput {
  name: string;
  kind?: ArtifactKind;
  mimeType?: string;
  visibility?: Visibility;
  metadata?: JsonObject;
  /** What other agents are told of it. */
  description?: string;
  /** URIs of the extensions that it uses. */
  extensions?: readonly string[];
  /** Whether other agents get text as the bytes of a file. */
  asFile?: boolean;
}

/** `url` is content that is elsewhere: it is passed on, and never asked for. */
export type ArtifactContent =
  | { text: string }
  | { json: JsonValue }
  | { bytes: Uint8Array }
  | { url: string };

export interface ArtifactWriter {
  id: string;
  write(chunk: string): Promise<void>;
  /** The hash is known from here on; nothing can be written after it. */
  close(): Promise<void>;
}

export type MemoryScope = "persona" | "session" | "workspace" | "tenant";

export interface MemoryFound {
  id: string;
  key: string | null;
  scope: MemoryScope;
  content: JsonValue;
}

/** What is known beyond this task. What was read stays as it was read, whenever the run is repeated. */
export interface AgentMemory {
  /** Keeps content under a key, in place of what was there; of the persona, unless it says otherwise. Gives the memory's id. */
  write(
    key: string,
    content: JsonValue,
    options?: { scope?: MemoryScope; expiresInMs?: number },
  ): Promise<string>;
  /** The content under a key, or undefined. Without a scope also what the session was given to read. */
  read(key: string, options?: { scope?: MemoryScope }): Promise<JsonValue | undefined>;
  /** The memories that have all these words, best first. */
  search(words: string): Promise<MemoryFound[]>;
}

export interface SpawnRequest {
  /** Whose work it is; the parent's persona when left out. */
  personaId?: string;
  input: string | JsonObject | Part[];
}

export type ChildResult = {
  task_id: string;
  status: "SUCCEEDED" | "FAILED" | "CANCELED";
  summary: string;
  output: JsonValue;
};

export interface Child {
  taskId: string;
  result(): Promise<ChildResult>;
}

/** Who work is handed to: a remote agent by the URL of its card or its server, a persona, or an agent that is loaded here. */
export type HandoffTarget = { url: string } | { persona: string } | { agent: string };

export type HandoffRequest = HandoffTarget & HandoffOptions & { input: string | JsonObject | Part[] };

/** All of these are about remote agents. */
export interface HandoffOptions {
  /** The name of a secret of a vault. Its value is sent as a bearer token, and is never written down. */
  credentials?: string;
  /** Only this vault, when it is named. */
  vault?: string;
  /** The card of the remote must be signed by one of these keys, given as JWKs or by the URLs of key sets. */
  trust?: { keys?: JsonObject[]; jwksUrls?: string[] };
  /** How long the remote may take in all, with its questions; seven days when left out. */
  expiresInMs?: number;
}

export type HandoffArtifact = { artifact_id: string; name: string; parts: Part[] };

/** What came of it. `SIMULATED` and `PROPOSED`: the persona's autonomy did not let it happen. */
export type HandoffResult = {
  task_id: string | null;
  context_id: string | null;
  status: "SUCCEEDED" | "FAILED" | "CANCELED" | "REJECTED" | "SIMULATED" | "PROPOSED";
  /** A sentence about it. */
  summary: string;
  /** The text or the JSON of the result. */
  output: JsonValue;
  artifacts: HandoffArtifact[];
  /** The receipt of the remote, when it gave one. */
  receipt?: { receipt_id: string; receipt_hash: string };
};

export interface FileWritten {
  path: string;
  sha256: string;
  bytes: number;
}

/** The files of the task's workspace. Paths are relative to it; texts are UTF-8. */
export interface AgentFiles {
  /** A side effect: it is in the receipt, and is not repeated when the run is. */
  write(path: string, text: string): Promise<FileWritten>;
  /** What the file said then, also when the run is repeated. */
  read(path: string): Promise<string>;
  /** What is in a directory; in the workspace itself when no path is given. */
  list(path?: string): Promise<FileEntry[]>;
}

/**
 * Everything an agent may do. After a crash or a wait the function runs again from the top and every call here gives
 * what it gave before, so keep what happens between the calls free of clocks, randomness and side effects.
 */
export interface AgentContext<Input = JsonObject> {
  readonly taskId: string;
  readonly sessionId: string;
  readonly workspaceId: string;
  /**
   * The structured payload of the task, or the first JSON object among the parts of its message, or an empty object. It is what
   * the agent's schema says, where it has one.
   */
  readonly input: Input;
  /** The input as text: the message's text parts, or `input.text`. */
  readonly text: string;
  /** The parts of the message, none for a structured payload. */
  readonly parts: readonly Part[];
  /** The message with all that its sender said of it; null for a structured payload. */
  readonly message: ReceivedMessage | null;
  /** Aborted when the task is canceled or the server stops. */
  readonly signal: AbortSignal;

  /** Runs the code once and remembers what it gave. At least once, if the process dies in between. */
  // biome-ignore lint/suspicious/noConfusingVoidType: a step may be done for its effect alone
  step<T extends JsonValue | undefined | void>(
    name: string,
    run: (step: StepContext) => Promise<T> | T,
    options?: StepOptions,
  ): Promise<T>;
  /**
   * A secret of a vault: of those that the session names, then of the workspace's, then of the tenant's, or of the named one
   * only. Fails with `secret_unavailable` when none has it. The value is taken out of everything that the run records.
   */
  secret(name: string, options?: { vault?: string }): Promise<string>;
  /** A text of the project's `context/` that the persona names in `context_packs`, as it was when the run first asked for it. */
  context(name: string): Promise<string>;
  readonly files: AgentFiles;
  /**
   * Changes something in the world, as far as the persona's autonomy goes: it is done, done once a person approved it,
   * proposed, or only noted. Runs at least once when it is done, like a step.
   */
  effect<T extends JsonValue>(
    name: string,
    run: (step: StepContext) => Promise<T> | T,
    options?: EffectOptions,
  ): Promise<EffectOutcome<T | JsonValue>>;
  /** Counts what work has cost against the quotas of the task. Ends the task at a hard limit, or asks to go on. */
  spend(spending: Spending): Promise<void>;
  /** Says something to the person. */
  say(content: string | Part[], options?: SayOptions): Promise<void>;
  /** Asks the person and waits, however long it takes. Without a schema the answer is text. */
  ask(question: string): Promise<string>;
  ask<S extends Schema>(question: string, schema: S, options?: { expiresInMs?: number }): Promise<ValueOf<S>>;
  /** Asks for permission and waits. Throws `ApprovalDenied` when it is denied. */
  approve(request: ApprovalRequest): Promise<void>;
  /**
   * Has a host that is connected to the session do something that only it can do (`clipboard.read`) and waits for what
   * it gives, however long it takes and whichever host it is in the end.
   */
  host(capability: string, input?: JsonValue, options?: HostOptions): Promise<JsonValue>;
  readonly shell: AgentShell;
  /** Keeps content beside the conversation. Gives the artifact's id. */
  artifact(artifact: ArtifactInput & ArtifactContent): Promise<string>;
  /** The same for content that comes piece by piece. */
  streamArtifact(artifact: ArtifactInput): Promise<ArtifactWriter>;
  sleep(ms: number): Promise<void>;
  /**
   * Waits for a signal that somebody sends to the task, seven days unless `timeoutMs` says otherwise; then throws `WaitExpired`. Signals
   * of a name are given in their order of arrival, each once, also those that came before. One that does not fit the schema throws
   * `invalid_signal`.
   */
  waitFor(name: string, options?: { timeoutMs?: number }): Promise<JsonValue>;
  waitFor<S extends Schema>(name: string, options: { schema: S; timeoutMs?: number }): Promise<ValueOf<S>>;
  /** Calls the function for each item, at most `concurrency` at a time (10 by default). Results are in the order of the items. */
  map<Item, Result>(
    items: readonly Item[],
    work: (item: Item, index: number) => Promise<Result> | Result,
    options?: { concurrency?: number },
  ): Promise<Result[]>;
  /** The same for functions: `ctx.parallel([() => ctx.step(…), () => ctx.ask(…)])`. */
  parallel<Result>(
    branches: readonly (() => Promise<Result> | Result)[],
    options?: { concurrency?: number },
  ): Promise<Result[]>;
  now(label?: string): Promise<Date>;
  random(label?: string): Promise<number>;
  uuid(label?: string): Promise<string>;
  /** A named point from which a run can be replayed. */
  checkpoint(name: string): Promise<void>;
  /** Tells those who watch how far the work is. */
  progress(message: string, percent?: number): Promise<void>;
  readonly memory: AgentMemory;
  readonly model: AgentModel;
  readonly persona: AgentPersona;
  /**
   * Calls a tool: by its definition, or by the name of one that the agent or the server has, or `server.tool` of an MCP server.
   * Whether it may, and who is asked first, is the persona's to say. Throws `not_carried_out` when nothing was done.
   */
  tool<I extends Schema, O extends Schema>(
    tool: ToolDefinition<I, O> | ContextTool<AgentContext, I, O>,
    input: GivenOf<I>,
  ): Promise<ValueOf<O>>;
  tool(name: string, input?: JsonValue): Promise<JsonValue>;
  /** The tools of these names that can be used now; `github.*` stands for all that begin so. All that the persona names, without. */
  tools(names?: readonly string[]): Promise<AvailableTool[]>;
  /** What was said in the session before this task, oldest first, for a model; the last 100 messages unless said. */
  conversation(options?: { last?: number }): Promise<ModelMessage[]>;
  /** Submits another task in the same session. */
  spawn(request: SpawnRequest): Promise<Child>;
  /**
   * The same for many, at most `concurrency` at a time (10 by default), and waits for all. Results are in the order of the requests, those
   * of tasks that failed too. Throws when a task is refused, say by a quota; what was begun goes on.
   */
  spawnAll(requests: readonly SpawnRequest[], options?: { concurrency?: number }): Promise<ChildResult[]>;
  /**
   * Gives work to another agent and waits for what comes of it, however long it takes. What a remote agent asks is asked
   * here, and the answer goes to it. Throws when the remote cannot be reached, trusted or understood.
   */
  handoff(request: HandoffRequest): Promise<HandoffResult>;
}
