/** `SendMessage` over gRPC, on bare `node:http2`: one connection is one HTTP/2 session with one call at a time. */

import { once } from "node:events";
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  TaskState,
} from "../proto/generated/lf/a2a/v1/a2a_pb.js";
import { benchKey } from "./bridle.ts";
import type { Target } from "./load.ts";
import { text } from "./requests.ts";

const headers = {
  ":method": "POST",
  ":path": "/lf.a2a.v1.A2AService/SendMessage",
  "content-type": "application/grpc",
  te: "trailers",
  "a2a-version": "1.0",
  authorization: `Bearer ${benchKey}`,
};

/** A flag for compression and the length come before each message. */
const prefixBytes = 5;

export function grpcSendMessage(url: string): Target {
  let sent = 0;
  return {
    connect: async () => {
      const session = connect(url);
      await once(session, "connect");
      return {
        request: async () => {
          sent += 1;
          const answer = await call(session, encode(`m${sent}`));
          const { payload } = fromBinary(SendMessageResponseSchema, answer);
          if (payload.case !== "task" || payload.value.status?.state !== TaskState.COMPLETED)
            throw new Error(`${url} did not complete the task`);
        },
        close: () => session.destroy(),
      };
    },
  };
}

function encode(messageId: string): Buffer {
  const parts = [{ content: { case: "text" as const, value: text } }];
  const message = { messageId, role: Role.USER, parts };
  const body = toBinary(SendMessageRequestSchema, create(SendMessageRequestSchema, { message }));
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

async function call(session: ClientHttp2Session, body: Buffer): Promise<Buffer> {
  const stream: ClientHttp2Stream = session.request(headers);
  const chunks: Buffer[] = [];
  let status: IncomingHttpHeaders = {};
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A call that fails at once has its status in the header.
  for (const event of ["response", "trailers"]) {
    stream.on(event, (headers: IncomingHttpHeaders) => {
      status = { ...status, ...headers };
    });
  }
  stream.end(body);
  await once(stream, "close");
  if (status["grpc-status"] !== "0")
    throw new Error(`gRPC status ${status["grpc-status"]}: ${status["grpc-message"]}`);
  return Buffer.concat(chunks).subarray(prefixBytes);
}
