/**
 * Large JSON bodies, checked while they arrive: their values are counted before they are parsed, and one credential can send only so many
 * bytes at once.
 */

import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HarnessError } from "../kernel/core/errors.ts";
import { countedBytesMin, ValueCounter, valuesMax } from "../kernel/core/json-values.ts";
import { pauseIfLate } from "../slices.ts";
import { presentedBy } from "./credentials.ts";

/** Bytes of large bodies that one credential can be sending at once. */
const bytesAtOnceMax = 32 * 1024 * 1024;
const retryAfterSeconds = 1;

/** Large bodies that have begun to arrive and are not answered yet, by credential. */
export class LargeBodies {
  readonly #bytesMax: number;
  readonly #open = new Map<string, number>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Gives the body back as a stream that fails at its end when it may not be parsed. */
  receive(request: FastifyRequest, reply: FastifyReply, body: Readable): Readable {
    const { "content-length": length, "transfer-encoding": encoding } = request.headers;
    const isSmall = encoding === undefined && Number(length ?? 0) < countedBytesMin;
    if (isSmall) return body;
    const counted = new CountedBody(body, this.#bytesMax, this.#accountOf(request, reply));
    // Who refuses a body for another reason does not listen to it any more.
    return counted.on("error", () => {});
  }

  /** Notes bytes that arrived, until the request is answered; false when they are too many. */
  #accountOf(request: FastifyRequest, reply: FastifyReply): (bytes: number) => boolean {
    const who = presentedBy(request, null) ?? request.ip;
    const add = (bytes: number) => {
      const open = (this.#open.get(who) ?? 0) + bytes;
      if (open > 0) this.#open.set(who, open);
      else this.#open.delete(who);
      return open <= bytesAtOnceMax;
    };
    let added = 0;
    reply.raw.once("close", () => add(-added));
    return (bytes) => {
      added += bytes;
      return add(bytes);
    };
  }
}

/**
 * What follows once a body is refused is dropped: a client that is still sending would not read an answer. The end waits for its turn of
 * the event loop, since parsing follows it. Nothing is read before somebody reads here: Node.js itself drops the rest of a body that
 * nobody began to read.
 */
class CountedBody extends Readable {
  /** What Fastify compares with the length that was announced. */
  receivedEncodedLength = 0;
  readonly #chunks: AsyncGenerator<Buffer>;

  constructor(body: Readable, bytesMax: number, note: (bytes: number) => boolean) {
    super({ read: () => void this.#next() });
    this.#chunks = this.#counted(body, bytesMax, note);
  }

  async #next(): Promise<void> {
    try {
      const { value, done } = await this.#chunks.next();
      this.push(done === true ? null : value);
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async *#counted(
    body: Readable,
    bytesMax: number,
    note: (bytes: number) => boolean,
  ): AsyncGenerator<Buffer> {
    const counter = new ValueCounter();
    let refusal: HarnessError | null = null;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      this.receivedEncodedLength += chunk.length;
      if (refusal === null && !note(chunk.length)) refusal = tooMuchAtOnce();
      if (refusal === null) counter.add(chunk);
      if (counter.isOver) refusal ??= tooManyValues();
      if (refusal === null) yield chunk;
      else if (this.receivedEncodedLength > bytesMax) break;
    }
    if (refusal !== null) throw refusal;
    await pauseIfLate();
  }
}

function tooMuchAtOnce(): HarnessError {
  return new HarnessError(
    "rate_limited",
    `One key can send ${bytesAtOnceMax} bytes of large bodies at once. Send fewer requests at a time.`,
    { details: { retry_after_seconds: retryAfterSeconds } },
  );
}

export function tooManyValues(): HarnessError {
  return new HarnessError(
    "payload_too_large",
    `The body has more than ${valuesMax} values (members of objects and items of arrays). Send less at once, or upload it as an artifact.`,
    { details: { values_max: valuesMax } },
  );
}
