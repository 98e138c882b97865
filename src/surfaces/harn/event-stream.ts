/** A stream of events, whatever it is sent over: how it is opened, shown, and known to be over. */

import type { StillAllowed } from "../../kernel/access/still-allowed.ts";
import type { StoredEvent } from "../../store/port.ts";
import type { ErrorAnswer } from "./errors.ts";

export interface EventStream {
  /** What the client called the event that it goes on from. */
  after: string | undefined;
  /** Opens the log; a cursor that cannot be continued from throws here. */
  open(signal: AbortSignal): Promise<AsyncGenerator<StoredEvent[]>>;
  present(event: StoredEvent): Promise<unknown>;
  /** True for the event after which the stream is over, where its log goes on. */
  isLast?(event: StoredEvent): boolean;
  /** Whether the credentials that it was opened with still hold. */
  isStillAllowed: StillAllowed;
  /** Ends the stream when the server stops. */
  stopped: AbortSignal;
  requestId: string;
  /** What the client is told about an error. */
  report(error: unknown): ErrorAnswer;
}
