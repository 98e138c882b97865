/**
 * A collector that speaks OTLP over HTTP: it keeps the spans that it was given, as they came, and can be away for a while.
 *
 *   await using collector = await new Collector().start();
 *   const [chat] = await collector.until((spans) => spans.filter(({ name }) => name.startsWith("chat ")), 1);
 */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { type Fields, fieldsOf, manyOf, numberOf, oneOf, textOf } from "./protobuf-fields.ts";

const patienceMs = 60_000;

export type Value = string | number | boolean | Value[];

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first of its trace. */
  parentId: string;
  name: string;
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Record<string, Value>;
  events: string[];
  links: { traceId: string; spanId: string }[];
  status: { code: number; message: string };
  resource: Record<string, Value>;
}

export class Collector implements AsyncDisposable {
  /** In the order in which they came. */
  readonly spans: CollectedSpan[] = [];
  readonly requests: { headers: IncomingHttpHeaders; body: Buffer; path: string }[] = [];
  /** What it answers with; spans are only kept when it is 200. */
  status = 200;
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #server = createServer(async (request, response) => {
    const sent = Buffer.concat(await request.toArray());
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    this.requests.push({ headers: request.headers, body, path: request.url ?? "" });
    if (this.status === 200) this.spans.push(...spansIn(body));
    response.writeHead(this.status, { "content-type": "application/x-protobuf" }).end();
    this.#events.emit("request");
  });

  async start(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    // Listening on a port, it has an address of this type.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async asked(times: number): Promise<void> {
    while (this.requests.length < times) await this.#next();
  }

  /** The spans of a task, once that of the task itself is among them. */
  async traceOf(taskId: string): Promise<CollectedSpan[]> {
    const ofTask = () => this.spans.filter(({ attributes }) => attributes["bridle.task.id"] === taskId);
    while (!ofTask().some(({ attributes }) => attributes["bridle.task.status"] !== undefined))
      await this.#next();
    return ofTask();
  }

  /** Once there is such a one. */
  async until(wanted: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    while (true) {
      const found = this.spans.find(wanted);
      if (found !== undefined) return found;
      await this.#next();
    }
  }

  async #next(): Promise<void> {
    await once(this.#events, "request", { signal: AbortSignal.timeout(patienceMs) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** By their names, each of which must be there once. */
export function byName(spans: CollectedSpan[]): Record<string, CollectedSpan> {
  const names = spans.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length, `each of ${names.join(", ")} once`);
  return Object.fromEntries(spans.map((span) => [span.name, span]));
}

function spansIn(body: Buffer): CollectedSpan[] {
  return manyOf(fieldsOf(body), 1).flatMap((ofResource) => {
    const resource = attributesIn(oneOf(ofResource, 1), 1);
    return manyOf(ofResource, 2).flatMap((ofScope) =>
      manyOf(ofScope, 2).map((span) => ({ ...spanIn(span), resource })),
    );
  });
}

function spanIn(span: Fields): Omit<CollectedSpan, "resource"> {
  const status = oneOf(span, 15);
  return {
    traceId: textOf(span, 1, "hex"),
    spanId: textOf(span, 2, "hex"),
    parentId: textOf(span, 4, "hex"),
    name: textOf(span, 5),
    kind: numberOf(span, 6),
    startMs: msOf(numberOf(span, 7)),
    endMs: msOf(numberOf(span, 8)),
    attributes: attributesIn(span, 9),
    events: manyOf(span, 11).map((event) => textOf(event, 2)),
    links: manyOf(span, 13).map((link) => ({
      traceId: textOf(link, 1, "hex"),
      spanId: textOf(link, 2, "hex"),
    })),
    status: { code: numberOf(status, 3), message: textOf(status, 2) },
  };
}

function attributesIn(fields: Fields, number: number): Record<string, Value> {
  return Object.fromEntries(manyOf(fields, number).map((pair) => [textOf(pair, 1), valueIn(oneOf(pair, 2))]));
}

function valueIn(value: Fields): Value {
  const [[field, [first] = []] = [0, []]] = [...value];
  switch (field) {
    case 2:
      return numberOf(value, 2) === 1;
    case 3:
      return numberOf(value, 3);
    case 4:
      assert.ok(first instanceof Uint8Array);
      return Buffer.from(first).readDoubleLE();
    case 5:
      return manyOf(oneOf(value, 5), 1).map(valueIn);
    default:
      return textOf(value, 1);
  }
}

/** A number holds the nanoseconds of today only to a quarter of a microsecond; what is sent has whole milliseconds. */
function msOf(nanoseconds: number): number {
  return Math.round(nanoseconds / 1e6);
}
