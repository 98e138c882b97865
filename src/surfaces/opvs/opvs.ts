/**
 * The way of a call through the surface, the same for all bindings: who calls and in which version (`admit`), then which
 * agent, whether the request is right, what is asked for beyond the protocol, and the operation itself (`perform`).
 */

import type { JsonValue, Message, MessageShape } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import type { StreamResponseJson } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { requireScope } from "../../kernel/access/authorize.ts";
import { type StillAllowed, untilTime } from "../../kernel/access/still-allowed.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Caller } from "../../policy/caller.ts";
import { readRefusalOf, refusalOf, type ServerFacts } from "../server-facts.ts";
import { addressed, extensionsOf } from "./agent.ts";
import { type AnonymousCaller, createAnonymousCaller } from "./anonymous.ts";
import type { Arrival, Call } from "./call.ts";
import { OpvsError, toWireError, type WireError } from "./errors.ts";
import { type OperationName, operations, type Streaming, type Unary } from "./operations.ts";
import { respelled } from "./respelled.ts";
import { readServiceParameters, type ServiceParameters } from "./service-parameters.ts";
import { readMessage, requireValid } from "./validate.ts";

export interface OpvsOptions {
  kernel: Kernel;
  facts: ServerFacts;
  logger: Logger;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
  /** How long a call without credentials may last: nobody could be asked to end it. */
  anonymousMs: number;
  /** Whether a call that says no version is one of 1.0 when it has its form. */
  isLenient: boolean;
}

/** A call whose sender is known. */
export interface Admitted extends ServiceParameters {
  arrival: Arrival;
  /** Null for somebody without credentials, who can reach public agents only. */
  caller: Caller | null;
  /** The extensions that are active, to be told to the client. Known once the agent is. */
  activated: readonly string[];
  /** Whether the credentials still hold: what lasts asks from time to time. */
  isStillAllowed: StillAllowed;
}

type Request<N extends OperationName> = MessageShape<(typeof operations)[N]["input"]>;
export type Result<N extends OperationName> = Awaited<ReturnType<(typeof operations)[N]["run"]>>;

export class Opvs {
  readonly #options: OpvsOptions;
  readonly #anonymousCaller: AnonymousCaller;
  /** Calls that end when the server stops. One listener for all: a signal made of several is dear to make for every call. */
  readonly #open = new Set<AbortController>();

  constructor(options: OpvsOptions) {
    this.#options = options;
    const { stopped } = options;
    stopped.addEventListener("abort", () => {
      for (const call of this.#open) call.abort(stopped.reason);
    });
    const { agents, clock } = options.kernel;
    this.#anonymousCaller = createAnonymousCaller(agents, () => clock.now());
  }

  /** For a call that ends when its client is gone, or the server stops. Close it in the end. */
  open(): AbortController {
    const call = new AbortController();
    if (this.#options.stopped.aborted) call.abort(this.#options.stopped.reason);
    else this.#open.add(call);
    return call;
  }

  close(call: AbortController): void {
    this.#open.delete(call);
  }

  /** Who it is; nobody, where there are agents for everybody. */
  identify(arrival: Pick<Arrival, "header" | "address">): Promise<Caller | null> | Caller | null {
    const credential = bearerOf(arrival);
    const caller =
      credential === null ? null : this.#options.kernel.authenticate(credential, arrival.address);
    return caller instanceof Promise
      ? caller.then((found) => this.#requireKnown(arrival, found))
      : this.#requireKnown(arrival, caller);
  }

  /** An invalid credential is an error, not an anonymous call. */
  #requireKnown(arrival: Pick<Arrival, "header">, caller: Caller | null): Caller | null {
    const isNobody = (arrival.header("authorization") ?? "") === "";
    if (caller === null && !(isNobody && this.#hasPublicAgents())) throw unauthenticated();
    return caller;
  }

  /** `caller` is who was identified already. */
  admit(arrival: Arrival, caller: Caller | null): Admitted {
    const { kernel, anonymousMs } = this.#options;
    const credential = bearerOf(arrival);
    const endsAt = kernel.clock.now() + anonymousMs;
    return {
      ...readServiceParameters(arrival),
      arrival,
      caller,
      activated: [],
      isStillAllowed:
        credential === null ? untilTime(() => kernel.clock.now() < endsAt) : kernel.stillAllowed(credential),
    };
  }

  /** The request in the JSON of the definition, in any spelling that this allows. */
  performJson<N extends OperationName>(admitted: Admitted, name: N, json: JsonValue): Promise<Result<N>> {
    try {
      const operation: Unary | Streaming = operations[name];
      const request = readMessage(operation.input, respelled(name, json));
      return this.#runCommand(admitted, name, request) as Promise<Result<N>>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async perform<N extends OperationName>(
    admitted: Admitted,
    name: N,
    request: Request<N>,
  ): Promise<Result<N>> {
    return (await this.#runCommand(admitted, name, request)) as Result<N>;
  }

  async #runCommand(admitted: Admitted, name: OperationName, request: Message): Promise<unknown> {
    const { kernel, facts, stopped, anonymousMs } = this.#options;
    const operation: Unary | Streaming = operations[name];
    const { caller, agent: named, isAnonymous } = this.#route(admitted, tenantOf(request));
    requireOperation(caller, name);
    requireValid(operation.input, request);
    const refusal = operation.isWork ? refusalOf(facts) : readRefusalOf(facts);
    if (refusal !== null) throw refusal;
    const taskId = named === null ? taskIdOf(request) : "";
    const agent = taskId === "" ? named : await agentOfTask(kernel, caller, taskId);
    const declared = extensionsOf(addressed({ kernel, agent }));
    if (name === "SendMessage" || name === "SendStreamingMessage") requireExtensions(declared, admitted);
    admitted.activated = declared
      .map(({ uri }) => uri)
      .filter((uri) => admitted.requestedExtensions.includes(uri));
    const call: Call = {
      kernel,
      caller,
      isAnonymous,
      agent,
      version: admitted.version,
      extensions: new Set(admitted.activated),
      since: admitted.since,
      trace: admitted.trace,
      publicUrl: facts.url(),
      credentials: facts.credentials,
      grpcAddress: facts.grpcAddress(),
      signal: isAnonymous
        ? AbortSignal.any([admitted.arrival.signal, AbortSignal.timeout(anonymousMs)])
        : admitted.arrival.signal,
      stopped,
    };
    return await operation.run(call, request);
  }

  /** For a call that has the form of 1.0, which is therefore what it has to say, or may leave unsaid. */
  asCurrent(admitted: Admitted): Admitted {
    if (admitted.version === "1.0") return admitted;
    if (this.#options.isLenient && !admitted.isVersionGiven) return { ...admitted, version: "1.0" };
    throw new OpvsError(
      "VERSION_NOT_SUPPORTED",
      "This is a call of version 1.0, which has to say so: OPVS-Version: 1.0. Without it, it is one of 0.3.",
      { supportedVersions: "1.0" },
    );
  }

  /** How an error is said; what was our fault is in the log. */
  fail(error: unknown, requestId: string): WireError {
    const { kernel, logger } = this.#options;
    const said = toWireError(error, kernel.redactor);
    if (said.unexpected)
      logger.error({ event: "http.failed", err: error, request_id: requestId }, "A request failed");
    return said;
  }

  /** The routing string is a tenant, an agent after an at sign, or both. */
  #route(admitted: Admitted, route: string): Pick<Call, "caller" | "agent" | "isAnonymous"> {
    const { arrival } = admitted;
    const at = route.indexOf("@");
    const [tenantId, named] = at === -1 ? [route, undefined] : [route.slice(0, at), route.slice(at + 1)];
    if (named !== undefined && arrival.agent !== null && named !== arrival.agent) {
      throw new HarnessError("invalid_request", "The tenant names another agent than the address.", {
        param: "tenant",
      });
    }
    const agent = arrival.agent ?? named ?? null;
    const isAnonymous = admitted.caller === null;
    // The work of those without a name is for the agent that is public, whatever the tenant's default may be.
    const reached = isAnonymous ? addressed({ kernel: this.#options.kernel, agent }).name : agent;
    const caller = admitted.caller ?? this.#anonymousCaller(reached ?? "", arrival.address);
    if (tenantId !== "" && tenantId !== caller.tenantId) {
      throw new HarnessError("permission_denied", "These credentials are not for this tenant.", {
        param: "tenant",
      });
    }
    return { caller, agent: reached, isAnonymous };
  }

  #hasPublicAgents(): boolean {
    return this.#options.kernel.agents.list().some(({ card }) => card.public !== null);
  }
}

/** Callers without credentials have what public agents give them. */
export function requireOperation(caller: Caller | null, name: OperationName): void {
  const { scope } = operations[name];
  if (caller !== null && scope !== null) requireScope(caller, scope);
}

export type StreamResponses = AsyncIterable<StreamResponseJson>;

function bearerOf(arrival: Pick<Arrival, "header">): string | null {
  const [scheme, credential] = (arrival.header("authorization") ?? "").split(" ");
  return scheme?.toLowerCase() === "bearer" && credential ? credential : null;
}

function tenantOf(request: object): string {
  return textIn(request, "tenant");
}

/** At the front door it is the task that says whose it is, and with that what can be asked for. */
async function agentOfTask(
  { store, agents }: Kernel,
  caller: Caller,
  taskId: string,
): Promise<string | null> {
  const task = await findVisible(store, caller, "task", taskId);
  // What an agent did that is no longer loaded can still be read.
  return task === undefined || agents.find(task.agent.name) === undefined ? null : task.agent.name;
}

/** The task that a request is about; empty without one. */
function taskIdOf(request: object): string {
  const message = "message" in request ? Object(request.message) : {};
  return textIn(message, "taskId") || textIn(request, "taskId") || textIn(request, "id");
}

function textIn(request: object, name: string): string {
  const value: unknown = Object.getOwnPropertyDescriptor(request, name)?.value;
  return typeof value === "string" ? value : "";
}

function unauthenticated(): HarnessError {
  return new HarnessError(
    "unauthenticated",
    "Send a valid API key or access token as Authorization: Bearer <key>.",
  );
}

function requireExtensions(
  declared: ReturnType<typeof extensionsOf>,
  { requestedExtensions }: ServiceParameters,
): void {
  const missing = declared
    .filter(({ uri, required }) => required && !requestedExtensions.includes(uri))
    .map(({ uri }) => uri);
  if (missing.length === 0) return;
  throw new OpvsError(
    "EXTENSION_SUPPORT_REQUIRED",
    `This agent needs clients that know ${missing.join(", ")}.`,
    { extensions: missing.join(",") },
  );
}
