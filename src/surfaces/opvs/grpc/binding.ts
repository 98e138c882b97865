/**
 * From a call of gRPC to an operation of the table and back, for all services and both kinds of calls. Who calls is
 * settled before the message is read.
 */

import type { JsonValue, Message } from "@bufbuild/protobuf";
import { ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Arrival, ProtocolVersion } from "../call.ts";
import { OpvsError } from "../errors.ts";
import { orAborted, untilAborted } from "./patience.ts";
import type { Admitted, OperationName, Opvs } from "./port.ts";
import { connectErrorOf, reasonOf } from "./refusals.ts";

/** One method of a service: which operation it is, and how its messages are read and written. */
export interface Method {
  operation: OperationName;
  read(message: Message): Message;
  write(answer: JsonValue): Message;
}

export const peerAddress = createContextKey("", { description: "address of the peer" });
const admission = createContextKey<Admitted | null>(null, { description: "what admits the call" });

export class Binding {
  readonly #opvs: Opvs;

  constructor(opvs: Opvs) {
    this.#opvs = opvs;
  }

  /** Lets a call in, or throws. A service speaks one version. */
  async admit(context: HandlerContext, version: ProtocolVersion): Promise<void> {
    try {
      const admitted = await orAborted(this.#opvs.admit(arrivalOf(context)), context.signal);
      if (admitted.version !== version) throw wrongService(version, admitted.version);
      context.values.set(admission, admitted);
    } catch (error) {
      throw this.#refusal(error, context);
    }
  }

  async unary({ operation, read, write }: Method, request: Message, context: HandlerContext) {
    const admitted = admittedIn(context);
    try {
      const answer = this.#opvs.perform(admitted, operation, read(request));
      return write(one(await orAborted(answer, context.signal)));
    } catch (error) {
      throw this.#refusal(error, context);
    } finally {
      say(admitted, context.responseHeader);
    }
  }

  async *stream({ operation, read, write }: Method, request: Message, context: HandlerContext) {
    const admitted = admittedIn(context);
    try {
      const following = this.#opvs.perform(admitted, operation, read(request));
      const events = many(await orAborted(following, context.signal));
      say(admitted, context.responseHeader);
      for await (const event of untilAborted(events, context.signal)) yield write(event);
    } catch (error) {
      throw this.#refusal(error, context);
    }
  }

  #refusal(error: unknown, { signal }: HandlerContext): ConnectError {
    if (signal.aborted) return reasonOf(signal);
    return error instanceof ConnectError ? error : connectErrorOf(this.#opvs.fail(error));
  }
}

type Given = Awaited<ReturnType<Opvs["perform"]>>;

function isMany(given: Given): given is Exclude<Given, JsonValue> {
  return typeof given === "object" && given !== null && Symbol.asyncIterator in given;
}

function one(given: Given): JsonValue {
  if (isMany(given)) throw new Error("an operation that gives one answer gave many");
  return given;
}

function many(given: Given): Exclude<Given, JsonValue> {
  if (!isMany(given)) throw new Error("an operation that gives many answers gave one");
  return given;
}

function admittedIn({ values }: HandlerContext): Admitted {
  const admitted = values.get(admission);
  if (admitted === null) throw new Error("a call came past the gate");
  return admitted;
}

function arrivalOf({ requestHeader, values, signal }: HandlerContext): Arrival {
  return {
    header: (name) => requestHeader.get(name) ?? undefined,
    // Metadata is all there is.
    query: () => undefined,
    address: values.get(peerAddress),
    agent: null,
    signal,
  };
}

const serviceOf: Record<ProtocolVersion, string> = {
  "1.0": "lf.a2a.v1.A2AService",
  "0.3": "a2a.v1.A2AService",
};

function wrongService(spoken: ProtocolVersion, asked: ProtocolVersion): OpvsError {
  return new OpvsError(
    "VERSION_NOT_SUPPORTED",
    `This service speaks version ${spoken}, and the call is one of ${asked}: say a2a-version ${spoken}, or use ${serviceOf[asked]}.`,
    { supportedVersions: spoken },
  );
}

/** What came of the extensions that were asked for, and where the trace goes on. */
function say({ activated, trace }: Admitted, header: Headers): void {
  if (activated.length > 0) {
    for (const name of ["a2a-extensions", "opvs-extensions"]) header.set(name, activated.join(", "));
  }
  if (trace !== null) header.set("traceparent", trace.traceparent);
}
