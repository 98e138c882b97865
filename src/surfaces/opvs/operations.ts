/**
 * The eleven operations, each once. A binding finds one here by its name, reads its input, has it carried out through
 * `Operations.perform`, and writes what it gives.
 */

import type { DescMessage, MessageJsonType, MessageShape } from "@bufbuild/protobuf";
import type { StreamResponseJson } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { Call } from "./call.ts";

/** An operation that gives one answer. */
export interface Unary<I extends DescMessage, O extends DescMessage> {
  kind: "unary";
  input: I;
  output: O;
  run(call: Call, request: MessageShape<I>): Promise<MessageJsonType<O>>;
}

/** One that gives events as they happen. What is refused is refused before the first of them. */
export interface Streaming<I extends DescMessage> {
  kind: "stream";
  input: I;
  run(call: Call, request: MessageShape<I>): Promise<AsyncIterable<StreamResponseJson>>;
}
