/** Events as frames: `event {event, replayed}`, no faster than the client reads them. */

import type { WebSocket } from "ws";
import type { Position, StoredEvent } from "../../../store/port.ts";
import { FrameSocket } from "../../frame-socket.ts";
import { closeCodes } from "../../websocket.ts";
import type { EventStream } from "../event-stream.ts";

/** What happened up to here was history when the client came: it is marked as replayed. */
export function eventFrame(event: unknown, position: Position, liveAfter: Position): object {
  return { type: "event", event, replayed: position <= liveAfter };
}

/** A stream of events and nothing else: what the client says is not listened to. */
export async function streamEventFrames(
  socket: WebSocket,
  stream: EventStream,
  liveAfter: Position,
): Promise<void> {
  const frames = new FrameSocket(socket);
  frames.onText(async () => {});
  const signal = AbortSignal.any([frames.gone, stream.stopped]);
  try {
    for await (const events of await stream.open(signal)) {
      if (await sendAll(frames, events, stream, liveAfter)) break;
    }
    if (!stream.stopped.aborted) await frames.close(closeCodes.done, "The stream is over.");
  } catch (error) {
    const { body, unexpected } = stream.report(error);
    await frames.send({ type: "error", ...body });
    await frames.close(unexpected ? closeCodes.failed : closeCodes.refused, body.error.code);
  }
}

/** True when the last event of the stream was among them. */
async function sendAll(
  frames: FrameSocket,
  events: readonly StoredEvent[],
  stream: EventStream,
  liveAfter: Position,
): Promise<boolean> {
  for (const event of events) {
    if (frames.gone.aborted) return true;
    await frames.send(eventFrame(await stream.present(event), event.position, liveAfter));
    if (stream.isLast?.(event) === true) return true;
  }
  return false;
}
