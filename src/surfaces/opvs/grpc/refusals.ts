/** Refusals as gRPC says them: a status, and details that programs can read. */

import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
} from "../../../../proto/generated/google/rpc/error_details_pb.js";
import { type ErrorDetail, errorInfoType, grpcStatus, type WireError } from "../errors.ts";

type OutgoingDetail = NonNullable<ConstructorParameters<typeof ConnectError>[3]>[number];

export function connectErrorOf(refusal: WireError): ConnectError {
  const { message, details, status } = refusal;
  return new ConnectError(message, grpcStatus[status], metadataOf(refusal), details.map(detailOf));
}

function detailOf(detail: ErrorDetail): OutgoingDetail {
  const { "@type": type, ...value } = detail;
  return { desc: type === errorInfoType ? ErrorInfoSchema : BadRequestSchema, value };
}

/** What HTTP says in headers. */
function metadataOf({ status, retryAfterSeconds }: WireError): Record<string, string> {
  return {
    ...(status === "UNAUTHENTICATED" ? { "www-authenticate": 'Bearer realm="bridle"' } : {}),
    ...(retryAfterSeconds === null ? {} : { "retry-after": String(retryAfterSeconds) }),
  };
}

/** Why a call was given up: its deadline, the client, or the server that stops. */
export function reasonOf(signal: AbortSignal): ConnectError {
  const { reason } = signal;
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("The client has gone away.", Code.Canceled);
}
