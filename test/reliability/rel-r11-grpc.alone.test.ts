/** REL-R11: a gRPC message with many values does not hold the event loop. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { SendMessageRequestSchema } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { type GrpcServer, startGrpcServer } from "../support/grpc.ts";
import { withoutStall } from "../support/loop-stall.ts";
import { adminKey } from "../support/server.ts";

let server: GrpcServer;
before(async () => {
  server = await startGrpcServer();
  // What is compiled and loaded with the first call is not what is measured here.
  await send(messageOf(1));
});
after(() => server[Symbol.asyncDispose]());

function messageOf(values: number): Uint8Array {
  const metadata = { list: Array.from({ length: values }, () => null) };
  return toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { metadata }));
}

/** Over gRPC-Web, where the status is in the body. */
async function send(message: Uint8Array, flags = 0): Promise<string> {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  const response = await fetch(`${server.grpcUrl}/lf.a2a.v1.A2AService/SendMessage`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${adminKey}`,
      "content-type": "application/grpc-web+proto",
      "grpc-encoding": flags === 0 ? "identity" : "gzip",
      "a2a-version": "1.0",
    },
    body: Buffer.concat([head, message]),
  });
  return await response.text();
}

test("REL-R11 a gRPC message with 900,000 values is refused and does not hold the event loop", async () => {
  const message = messageOf(900_000);
  const zipped = gzipSync(message);
  assert.match(await withoutStall(() => send(message)), /more%20than%2010000%20values/);
  assert.match(await withoutStall(() => send(zipped, 1)), /more%20than%2010000%20values/);
});

test("REL-R11 a gRPC message with as many values as are read does not hold the event loop", async () => {
  const message = messageOf(9_000);
  assert.match(await withoutStall(() => send(message)), /grpc-status: ?3/);
});
