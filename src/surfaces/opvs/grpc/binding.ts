/**
 * From a call of gRPC to an operation of the table and back, for all services and both kinds of calls. Who calls is
 * settled before the message is read.
 */

import { isMessage, type JsonValue, type Message } from "@bufbuild/protobuf";
import { type Code, ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { StreamResponseJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { continueTrace } from "../../../kernel/core/trace.ts";
import { abortable, abortableEvents } from "../../../web/abortable.ts";
import type { Arrival, ProtocolVersion } from "../call.ts";
import { OpvsError } from "../errors.ts";
import { type OperationName, operations } from "../operations.ts";
import { type Admitted, type Opvs, requireOperation } from "../opvs.ts";
import { spellings } from "../service-parameters.ts";
import { requirePlainValues } from "./plain-values.ts";
import { connectErrorOf, reasonOf } from "./refusals.ts";

/** One method of a service: which operation it is, and how its messages are read and written. */
export interface Method {
  operation: OperationName;
  read(message: Message): Message;
  write(answer: JsonValue): Message;
}

/** What is known of a call from its connection. */
export interface Peer {
  address: string;
  requestId: string;
  /** What it was refused with, once it was. */
  refused: Code | null;
}

export const peerKey = createContextKey<Peer>({ address: "", requestId: "", refused: null });
const admittedKey = createContextKey<Admitted | null>(null);

type Given = Awaited<ReturnType<Opvs["perform"]>>;
type Events = AsyncIterable<StreamResponseJson>;

export class Binding {
  readonly #opvs: Opvs;
  readonly #heartbeatMs: number;

  /** With every heartbeat, a stream asks whether its credentials still hold. */
  constructor(opvs: Opvs, heartbeatMs: number) {
    this.#opvs = opvs;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Lets a call in, or throws. A service speaks one version. */
  async admit(context: HandlerContext, version: ProtocolVersion, operation: OperationName): Promise<void> {
    try {
      const arrival = arrivalOf(context);
      const identified = Promise.resolve(this.#opvs.identify(arrival));
      const admitted = this.#opvs.admit(arrival, await abortable(identified, context.signal));
      requireOperation(admitted.caller, operation);
      context.values.set(admittedKey, this.#inVersion(version, admitted));
    } catch (error) {
      throw this.#refusal(error, context);
    }
  }

  #inVersion(version: ProtocolVersion, admitted: Admitted): Admitted {
    if (version === "1.0") return this.#opvs.asCurrent(admitted);
    if (admitted.version === version) return admitted;
    throw new OpvsError(
      "VERSION_NOT_SUPPORTED",
      "This is the service of version 0.3; that of 1.0 is lf.a2a.v1.A2AService.",
      { supportedVersions: version },
    );
  }

  async unary({ operation, read, write }: Method, request: Message, context: HandlerContext) {
    const admitted = admittedIn(context);
    try {
      requirePlainValues(request);
      const performed = this.#perform(admitted, operation, read(request));
      return write(one(await abortable(performed, context.signal)));
    } catch (error) {
      throw this.#refusal(error, context);
    } finally {
      tell(admitted, context.responseHeader);
    }
  }

  async *stream(method: Method, request: Message, context: HandlerContext): AsyncGenerator<Message> {
    const admitted = admittedIn(context);
    const credentials = new Credentials(admitted, this.#heartbeatMs, context.signal);
    try {
      requirePlainValues(request);
      const performed = this.#perform(admitted, method.operation, method.read(request));
      const events = many(await abortable(performed, context.signal));
      tell(admitted, context.responseHeader);
      const signal = AbortSignal.any([context.signal, credentials.signal]);
      for await (const event of abortableEvents(events, signal)) yield method.write(event);
    } catch (error) {
      throw this.#refusal(error, context);
    } finally {
      credentials.release();
    }
  }

  async #perform(admitted: Admitted, name: OperationName, request: Message): Promise<Given> {
    if (!isMessage(request, operations[name].input)) throw new Error(`${name} got a message of another kind`);
    return await this.#opvs.perform(admitted, name, request);
  }

  #refusal(error: unknown, context: HandlerContext): ConnectError {
    const refusal = this.#refusalOf(error, context);
    context.values.get(peerKey).refused = refusal.code;
    return refusal;
  }

  #refusalOf(error: unknown, { signal, values }: HandlerContext): ConnectError {
    if (signal.aborted) return reasonOf(signal);
    if (error instanceof ConnectError) return error;
    return connectErrorOf(this.#opvs.fail(error, values.get(peerKey).requestId));
  }
}

/** Those that a stream was opened with, for as long as it lasts. */
class Credentials {
  readonly #gone = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #unwatch: () => void;
  /** Aborted when they no longer hold. */
  readonly signal = this.#gone.signal;

  /** They are looked after until the call ends, however it does. */
  constructor({ isStillAllowed }: Admitted, heartbeatMs: number, call: AbortSignal) {
    const check = async () => {
      // A store that cannot answer now says nothing about the credentials; the next beat asks again.
      if (await isStillAllowed().catch(() => true)) return;
      this.#gone.abort(new HarnessError("unauthenticated", "The credentials are no longer valid."));
    };
    this.#timer = setInterval(check, heartbeatMs);
    this.#unwatch = isStillAllowed.watch(() => void check());
    call.addEventListener("abort", () => this.release(), { once: true });
  }

  release(): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }
}

function isMany(given: Given): given is Events {
  return Symbol.asyncIterator in given;
}

function one(given: Given): Exclude<Given, Events> {
  if (isMany(given)) throw new Error("an operation that gives one answer gave many");
  return given;
}

function many(given: Given): Events {
  if (!isMany(given)) throw new Error("an operation that gives many answers gave one");
  return given;
}

function admittedIn({ values }: HandlerContext): Admitted {
  const admitted = values.get(admittedKey);
  if (admitted === null) throw new Error("a call came past the gate");
  return admitted;
}

/** There are no paths, and the messages of 0.3 have no tenant, so the agent can be named beside them. */
function arrivalOf({ requestHeader, values, signal }: HandlerContext): Arrival {
  const [agent] = spellings("Agent").flatMap((name) => requestHeader.get(name) ?? []);
  return {
    header: (name) => requestHeader.get(name) ?? undefined,
    // Metadata is all there is.
    query: () => undefined,
    address: values.get(peerKey).address,
    agent: agent ?? null,
    signal,
  };
}

/** What goes with every answer to a call that was admitted. */
function tell({ activated, trace, version }: Admitted, header: Headers): void {
  if (activated.length > 0) {
    const names = version === "0.3" ? ["X-A2A-Extensions"] : spellings("Extensions");
    for (const name of names) header.set(name, activated.join(", "));
  }
  if (trace !== null) header.set("traceparent", continueTrace(trace).traceparent);
}
