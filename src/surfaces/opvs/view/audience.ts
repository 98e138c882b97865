/** Who is told what: what a task says and makes is for those who could also read it. */

import type { StreamResponseJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { RecordedEvent } from "../../../kernel/events.ts";

export interface Audience {
  readsMessages: boolean;
  readsArtifacts: boolean;
}

/** Whether this, which an event has to say, may be heard. */
export function mayHear(
  { readsMessages, readsArtifacts }: Audience,
  { event }: RecordedEvent,
  { artifactUpdate }: StreamResponseJson,
): boolean {
  if (artifactUpdate !== undefined) return readsArtifacts;
  return event !== "agent.message" || readsMessages;
}
