/**
 * `grpc-message` as the gRPC specification encodes it: UTF-8 of which only what is not printable ASCII, and `%`, is
 * percent-encoded. Connect encodes more than that, which clients like grpc-js do not decode.
 */

const header = "grpc-message";

export function encodeStatusMessage(message: string): string {
  return message.toWellFormed().replace(/[^ -$&-~]+/gu, encodeURIComponent);
}

/** The same status, with its message encoded anew. */
export function respellStatusMessage(status: Headers): void {
  const message = status.get(header);
  if (message !== null) status.set(header, encodeStatusMessage(decodeURIComponent(message)));
}
