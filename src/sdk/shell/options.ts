/** How a program embeds the shell: where the engine is, what can be carried out, who is asked, and who wants to hear. */

import { type Directive, type RiskTier, riskTiers } from "./directive.ts";
import { shellError } from "./errors.ts";
import type { Approver, Handler } from "./execution.ts";
import type { JsonObject } from "./json.ts";
import type { EnvironmentState, ShellIdentity } from "./request.ts";
import { defaultRetryPolicy, type RetryPolicy } from "./retry.ts";
import type { ShellState } from "./state.ts";

/** An engine that streams sends a heartbeat more often; one that does not has answered within half a minute. */
const silenceMsMax = 120_000;
/** A handler that takes longer should say so by its directive's deadline. */
const handlerMsMax = 600_000;

export interface Progress {
  readonly message: string | undefined;
  /** From 0 to 100. */
  readonly percent: number | undefined;
}

export interface Diagnostic {
  readonly code: "unknown_action_type" | "retry";
  readonly message: string;
  readonly actionType?: string;
}

type Headers = Record<string, string>;

export interface ShellOptions {
  /** The engine's address: `https://agents.example.com/openharness/v1`, or `wss://agents.example.com/openharness/v1/ws`. */
  url: string;
  /** Credentials, say. A function is asked before each request. Over a WebSocket, `Authorization: Bearer <key>` only. */
  headers?: Headers | (() => Headers | Promise<Headers>);
  /** What can be carried out, by action type. What is not here is never carried out. */
  handlers?: Record<string, Handler>;
  /** Asks the person for approval. Without one the answer is always no. */
  approve?: Approver;
  /** The highest tier of risk that runs without asking; `safe` unless it is said. */
  riskLimit?: RiskTier;
  identity?: ShellIdentity;
  /** Which agent: `{ sop_id: "releaser" }`. */
  taskHint?: JsonObject;
  /** Stable references to whom the shell speaks for. Never secrets: those go into headers. */
  auth?: JsonObject;
  /** What to tell of the surroundings, asked with each new intent and when the engine asks for it again. */
  environment?: () => EnvironmentState | undefined | Promise<EnvironmentState | undefined>;
  /** Offered beside those that follow from the other options; a value of `false` takes one back. */
  capabilities?: JsonObject;
  /** Whether responses may come as streams; they do unless this is false. */
  stream?: boolean;
  /** The conversation to go on with, from `shell.state` or `onStateChange` of an earlier shell. */
  state?: ShellState;
  sessionId?: string;
  conversationId?: string;
  /** A text for the person in the place of a directive that is not carried out. */
  onNotice?: (text: string, directive: Directive) => void;
  onProgress?: (progress: Progress) => void;
  onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Keep it, and the conversation survives the program. It is a way into the run: keep it like a password. */
  onStateChange?: (state: ShellState) => void;
  retry?: Partial<RetryPolicy>;
  silenceMsMax?: number;
  handlerMsMax?: number;
  /** In the place of the platform's own, for tests and proxies. */
  fetch?: typeof fetch;
}

/** Carried out by the shell itself, so that no handler can get them wrong. */
const reserved = ["noop", "request_approval"];

export interface Settings {
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly headers: () => Headers | Promise<Headers>;
  readonly mayStream: boolean;
  readonly silenceMsMax: number;
  readonly handlerMsMax: number;
  readonly handlers: ReadonlyMap<string, Handler>;
  readonly approve: Approver | undefined;
  readonly riskLimit: RiskTier;
  readonly retry: RetryPolicy;
  readonly capabilities: JsonObject;
}

export function settingsOf(options: ShellOptions): Settings {
  const { headers = {}, approve, stream = true, riskLimit = "safe" } = options;
  const handlers = new Map(Object.entries(options.handlers ?? {}));
  if (!/^(https?|wss?):\/\//.test(options.url)) throw wrong("url must be an http, https, ws or wss address.");
  for (const type of reserved) {
    if (handlers.has(type)) throw wrong(`${type} is carried out by the shell itself; it takes no handler.`);
  }
  if (!riskTiers.includes(riskLimit)) throw wrong(`riskLimit must be one of ${riskTiers.join(", ")}.`);
  return {
    url: options.url,
    fetch: options.fetch ?? fetch,
    headers: typeof headers === "function" ? headers : () => headers,
    mayStream: stream,
    silenceMsMax: options.silenceMsMax ?? silenceMsMax,
    handlerMsMax: options.handlerMsMax ?? handlerMsMax,
    handlers,
    approve,
    riskLimit,
    retry: { ...defaultRetryPolicy, ...options.retry },
    capabilities: {
      ...(stream ? { "openharness.streaming": true } : {}),
      "openharness.actions.parallel": true,
      ...(handlers.has("render_ui") ? { "openharness.ui.rich_cards": true } : {}),
      ...(approve === undefined ? {} : { "openharness.ui.approval": true }),
      "com.bridle.outcomes": true,
      ...options.capabilities,
    },
  };
}

function wrong(message: string): Error {
  return shellError("invalid_argument", message);
}
