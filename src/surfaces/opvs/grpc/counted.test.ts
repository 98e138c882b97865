import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  ListTasksRequestSchema,
  SendMessageRequestSchema,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { valuesMax } from "../../../kernel/core/json-values.ts";
import { countedBody, hasTooManyFields } from "./counted.ts";

const refusal = new ConnectError("too many", Code.ResourceExhausted);
const bytesMax = 4 * 1024 * 1024;

/** A message with so many values of its own choice. */
function messageOf(values: number): Uint8Array {
  const metadata = Object.fromEntries(Array.from({ length: values }, (_, n) => [`k${n}`, n]));
  return toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { metadata }));
}

function enveloped(message: Uint8Array, flags = 0): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function passed(bytes: Uint8Array, size = 1000): Promise<Buffer> {
  const counted = { input: SendMessageRequestSchema, isJson: false, bytesMax, refusal: () => refusal };
  const pieces: Uint8Array[] = [];
  for await (const piece of countedBody(inPieces(bytes, size), counted)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("REL-R11 a gRPC message with as many values as JSON may have is passed on unchanged", async () => {
  for (const message of [messageOf(0), messageOf(10), messageOf(valuesMax - 1)]) {
    for (const size of [1, 5, 7000, bytesMax]) {
      if (size < 5 && message.length > 100_000) continue;
      assert.deepEqual(await passed(enveloped(message), size), enveloped(message));
    }
    const zipped = enveloped(gzipSync(message), 1);
    assert.deepEqual(await passed(zipped), zipped);
  }
});

test("REL-R11 a gRPC message with more values is refused before it is parsed, compressed or not", async () => {
  const message = messageOf(valuesMax + 1);
  await assert.rejects(passed(enveloped(message)), refusal);
  await assert.rejects(passed(enveloped(gzipSync(message), 1)), refusal);
  const text = JSON.stringify({ metadata: { list: Array.from({ length: valuesMax + 1 }, () => 0) } });
  const counted = { input: SendMessageRequestSchema, isJson: true, bytesMax, refusal: () => refusal };
  const body = countedBody(inPieces(enveloped(Buffer.from(text)), 9000), counted);
  await assert.rejects(body.next(), refusal);
});

test("REL-R11 fields that the type does not have are counted, and texts are not looked into", () => {
  // Field 100, a varint, again and again.
  const unknown = Buffer.from(new Uint8Array([0xa0, 0x06, 0x01]))
    .toString("latin1")
    .repeat(100_000);
  assert.equal(hasTooManyFields(Buffer.from(unknown, "latin1"), ListTasksRequestSchema), true);
  const text = create(ListTasksRequestSchema, { pageToken: "\u0001".repeat(1_000_000) });
  assert.equal(hasTooManyFields(toBinary(ListTasksRequestSchema, text), ListTasksRequestSchema), false);
});

test("REL-R11 what is no message is left to the parser, which fails as soon", () => {
  for (const broken of [[0xff], [0x0a, 0xff, 0xff, 0x03], [0x07, 0x01]]) {
    const bytes = Uint8Array.from(broken);
    assert.equal(hasTooManyFields(bytes, SendMessageRequestSchema), false);
    assert.throws(() => fromBinary(SendMessageRequestSchema, bytes));
  }
});

test("REL-R11 what comes behind the message, or is too long, is not kept", async () => {
  const message = enveloped(messageOf(3));
  const doubled = await passed(Buffer.concat([message, message]));
  assert.deepEqual(doubled, Buffer.concat([message, new Uint8Array(5)]));
  const long = Buffer.concat([enveloped(new Uint8Array(bytesMax + 1))]);
  assert.equal((await passed(long, 65_536)).length, long.length);
});
