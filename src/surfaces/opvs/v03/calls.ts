/** What a call of 0.3 has carried out: operations of 1.0, mostly one, now and then two. */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type {
  AgentCardJson,
  ListTaskPushNotificationConfigsResponseJson,
  SendMessageResponseJson,
  StreamResponseJson,
  TaskJson,
  TaskPushNotificationConfigJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { refused } from "./fields.ts";

/** The operations that 0.3 knows, each with what it gives. Listing tasks is not among them. */
export interface Answers {
  SendMessage: SendMessageResponseJson;
  GetTask: TaskJson;
  CancelTask: TaskJson;
  CreateTaskPushNotificationConfig: TaskPushNotificationConfigJson;
  GetTaskPushNotificationConfig: TaskPushNotificationConfigJson;
  ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsResponseJson;
  DeleteTaskPushNotificationConfig: JsonObject;
  GetExtendedAgentCard: AgentCardJson;
}

/** Carries out operations of 1.0 for one call; requests are in the JSON of 1.0. */
export interface Performer {
  answer<N extends keyof Answers>(name: N, request: JsonObject): Promise<Answers[N]>;
  stream(
    name: "SendStreamingMessage" | "SubscribeToTask",
    request: JsonObject,
  ): Promise<AsyncIterable<StreamResponseJson>>;
}

/** One call of 0.3, from its parameters to what it is answered with. */
export type V03Call<P> =
  | { kind: "answer"; run(perform: Performer, params: P): Promise<JsonValue> }
  | { kind: "stream"; run(perform: Performer, params: P): Promise<AsyncIterable<JsonObject>> };

/** The events of a stream in another form, as they come. */
export async function* shown(
  events: AsyncIterable<StreamResponseJson>,
  show: (event: StreamResponseJson) => JsonObject,
): AsyncGenerator<JsonObject> {
  for await (const event of events) yield show(event);
}

/** The webhook that is meant: 0.3 need not say which, and then there has to be no doubt. */
export async function findConfig(
  perform: Performer,
  taskId: string,
  id: string,
): Promise<TaskPushNotificationConfigJson> {
  if (id !== "") return await perform.answer("GetTaskPushNotificationConfig", { taskId, id });
  const { configs = [] } = await perform.answer("ListTaskPushNotificationConfigs", { taskId });
  const [only, ...others] = configs;
  if (others.length > 0) {
    throw refused("pushNotificationConfigId", "is needed, because the task has several");
  }
  if (only !== undefined) return only;
  // One that is not there is refused as any other that is not there.
  return await perform.answer("GetTaskPushNotificationConfig", { taskId, id: "none" });
}
