/** What webhooks are told: the same as a stream would say, in the shape of the version that they were registered under. */

import type { StreamResponseJson } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { RecordedEvent } from "../../kernel/core/events.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { PushConfigRecord, PushVersion } from "../../kernel/kinds/push-config.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { Position } from "../../store/port.ts";
import { showEvent } from "./v03/results.ts";
import { TaskView, wholeTask } from "./view/task-view.ts";

export interface NotificationOptions {
  kernel: Kernel;
  /** Where clients find this server. */
  publicUrl(): string;
  /** How each version says it. */
  shapes: Record<PushVersion, (response: StreamResponseJson) => object>;
}

/** How each version says what happened. */
export const notificationShapes: NotificationOptions["shapes"] = {
  "1.0": (response) => response,
  "0.3": showEvent,
};

type Narrate = (event: RecordedEvent) => Promise<object[]>;

/** Gives what is to be told about a task, event by event, to one that was told everything up to a position. */
export function notifications({ kernel, publicUrl, shapes }: NotificationOptions) {
  return async (config: PushConfigRecord, after: Position): Promise<Narrate> => {
    const document = await kernel.store.of(config.tenant_id).get("task", config.task_id);
    if (document === undefined) return async () => [];
    const presentation = {
      store: kernel.store.of(config.tenant_id),
      publicUrl: publicUrl(),
      withCursor: false,
      withMessages: config.with_history,
      withArtifacts: config.with_artifacts,
    };
    const view = await TaskView.read(document.body as TaskRecord, after, presentation);
    const shape = shapes[config.protocol_version];
    return async (event) => {
      // A view begins with the submission, and that is told as the whole task.
      if (event.event === "task.submitted") return [shape({ task: await view.snapshot(wholeTask) })];
      return event.position <= view.position ? [] : (await view.follow(event)).map(shape);
    };
  };
}
