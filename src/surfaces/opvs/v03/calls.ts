/** What a call of 0.3 has carried out: operations of 1.0, mostly one, now and then two. */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type {
  StreamResponseJson,
  TaskPushNotificationConfigJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { OperationName } from "../operations.ts";
import type { Admitted, Opvs, Result } from "../opvs.ts";
import type { Events } from "../sse.ts";
import { refused } from "./fields.ts";

/** Carries out operations for one call; requests are in the JSON of 1.0. */
export type Perform = <N extends OperationName>(name: N, request: JsonObject) => Promise<Result<N>>;

/** One call of 0.3, from its parameters to what it is answered with. */
export type V03Call<P> =
  | { kind: "answer"; run(perform: Perform, params: P): Promise<JsonValue> }
  | {
      kind: "stream";
      /** Whether a refusal is an event of the stream: then there always is one. */
      alwaysStreams: boolean;
      run(perform: Perform, params: P): Promise<AsyncIterable<JsonObject>>;
    };

/** One answer, or events as they happen. */
export type V03Answer = { result: JsonValue } | Events;

export async function answerTo<P>(call: V03Call<P>, perform: Perform, params: P): Promise<V03Answer> {
  if (call.kind === "answer") return { result: await call.run(perform, params) };
  if (!call.alwaysStreams) return { events: await call.run(perform, params), beginsAtOnce: false };
  return { events: await call.run(perform, params).catch(refusing), beginsAtOnce: true };
}

/** A stream in which all that happens is this error. */
function refusing(error: unknown): AsyncIterable<JsonObject> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

export function performFor(opvs: Opvs, admitted: Admitted): Perform {
  return (name, request) => opvs.performJson(admitted, name, request);
}

/** The events of a stream in another form, as they come. */
export async function* shown(
  events: AsyncIterable<StreamResponseJson>,
  show: (event: StreamResponseJson) => JsonObject,
): AsyncGenerator<JsonObject> {
  for await (const event of events) yield show(event);
}

/** The webhook that is meant: 0.3 need not say which, and then there has to be no doubt. */
export async function findConfig(
  perform: Perform,
  taskId: string,
  id: string,
): Promise<TaskPushNotificationConfigJson> {
  if (id !== "") return await perform("GetTaskPushNotificationConfig", { taskId, id });
  const { configs = [] } = await perform("ListTaskPushNotificationConfigs", { taskId });
  const [only, ...others] = configs;
  if (others.length > 0) {
    throw refused("pushNotificationConfigId", "is needed, because the task has several");
  }
  if (only !== undefined) return only;
  // One that is not there is refused like every other that is not there.
  return await perform("GetTaskPushNotificationConfig", { taskId, id: "none" });
}
