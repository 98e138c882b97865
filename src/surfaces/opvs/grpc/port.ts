/** What the binding needs of the operations. */

import type { JsonValue, Message } from "@bufbuild/protobuf";
import type { TraceContext } from "../../../kernel/trace.ts";
import type { Arrival, ProtocolVersion } from "../call.ts";
import type { WireError } from "../errors.ts";

export type OperationName =
  | "SendMessage"
  | "SendStreamingMessage"
  | "GetTask"
  | "ListTasks"
  | "CancelTask"
  | "SubscribeToTask"
  | "CreateTaskPushNotificationConfig"
  | "GetTaskPushNotificationConfig"
  | "ListTaskPushNotificationConfigs"
  | "DeleteTaskPushNotificationConfig"
  | "GetExtendedAgentCard";

export interface Admitted {
  version: ProtocolVersion;
  activated: readonly string[];
  trace: TraceContext | null;
}

export interface Opvs {
  admit(arrival: Arrival): Promise<Admitted>;
  perform(
    admitted: Admitted,
    name: OperationName,
    message: Message,
  ): Promise<JsonValue | AsyncIterable<JsonValue>>;
  fail(error: unknown): WireError;
}
