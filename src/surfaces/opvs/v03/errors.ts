/** A refusal as 0.3 says it: one object with a code, on JSON-RPC and on REST alike. */

import type { JsonObject } from "@bufbuild/protobuf";
import { badRequestType, type WireError } from "../errors.ts";

export type V03Error = { code: number; message: string; data?: JsonObject };

/** What a program may want to know goes along as an object; 0.3 knows no list of typed details. */
export function showError(error: WireError): V03Error {
  const { jsonRpc: code, message } = error;
  const [detail] = error.details;
  if (detail === undefined) return { code, message };
  if (detail["@type"] !== badRequestType) return { code, message, data: { ...detail.metadata } };
  const fieldViolations = detail.fieldViolations.map(({ field, description }) => ({ field, description }));
  return { code, message, data: { fieldViolations } };
}
