/** What is said of every call on the gRPC port once it is over: a line in the log, and a number for whoever counts. */

import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Logger } from "pino";

/** Hears of calls. What it does must not throw. */
export interface GrpcWatch {
  /** Gives what is to be called when the call is over. `method` is one that there is. */
  began(method: string, isStream: boolean): (code: string) => void;
}

/** Follows one call; what it gives is called with the number of its status, whatever became of it. */
export function tellOfCall(
  { logger, watch = null }: { logger: Logger; watch?: GrpcWatch | null },
  { requestId, method }: { requestId: string; method: DescMethod },
): (code: number) => void {
  const name = `${method.parent.typeName}/${method.name}`;
  const ended = watch?.began(name, method.methodKind !== "unary");
  const begunAt = performance.now();
  return (number) => {
    const code = nameOf(number);
    ended?.(code);
    const ms = Math.round(performance.now() - begunAt);
    logger.debug({ event: "grpc.request", request_id: requestId, method: name, code, ms }, "request");
  };
}

/** 0 is no error, and has no name in this library. */
function nameOf(code: number): string {
  return code === 0 ? "OK" : (Code[code] ?? "Unknown");
}
