/** Receipts: read, list, prove, verify; and the keys that verify them. */

import type { Static } from "typebox";
import { timestamp } from "../../../kernel/core/clock.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import {
  getReceipt,
  listReceipts,
  listTaskReceipts,
  proveReceipt,
} from "../../../kernel/receipts/read-receipts.ts";
import { taskOfSubject } from "../../../kernel/receipts/receipt-subject.ts";
import { requestReceipt } from "../../../kernel/receipts/request-receipt.ts";
import { publicKeys, publishedKeys, rotateSigningKey } from "../../../kernel/receipts/signing-keys.ts";
import { verifyStoredReceipt } from "../../../kernel/receipts/verify-receipt.ts";
import type { Redactor } from "../../../policy/redact/redact.ts";
import { encodeReceipt } from "../../../receipts/cbor.ts";
import type { Verification } from "../../../receipts/checks.ts";
import { JwksSchema, newSigningKey } from "../../../receipts/keys.ts";
import { type PublicJwk, publicKeysIn } from "../../../receipts/public-keys.ts";
import { ReceiptSchema } from "../../../receipts/schema.ts";
import { verifyReceipt } from "../../../receipts/verify.ts";
import type { Store } from "../../../store/port.ts";
import { keySetPath } from "../../addresses.ts";
import { presentPage } from "../lists.ts";
import { presentRecord } from "../present.ts";
import { type Call, publicRoute, type Route, route } from "../route.ts";
import { ListOf, PageQuery, pageQuery } from "../schemas.ts";
import {
  ReceiptProof,
  ReceiptProofQuery,
  ReceiptVerification,
  RequestReceiptRequest,
  SigningKey,
  VerifyForeignReceiptRequest,
  VerifyReceiptRequest,
} from "../schemas-receipt.ts";
import { checkpointRoutes } from "./checkpoints.ts";

const tag = "Receipts";
const cborType = "application/vnd.harn.receipt+cbor";

/** What was found in a receipt is quoted, whatever somebody put there. */
function presentVerification(verification: Verification, checkedAt: string, redactor: Redactor): unknown {
  const { valid, reason, checks } = redactor.value(verification);
  return { object: "receipt_verification", valid, checked_at: checkedAt, reason, details: { checks } };
}

/** A receipt from anywhere, alone or with the keys that it is said to be signed with. */
function splitForeign(body: Static<typeof VerifyForeignReceiptRequest>): {
  receipt: unknown;
  jwks: unknown;
} {
  return "receipt" in body ? { receipt: body.receipt, jwks: body.jwks } : { receipt: body, jwks: undefined };
}

/** The keys that came with it; without any, our own. */
async function keysFor(jwks: unknown, store: Store): Promise<PublicJwk[]> {
  if (jwks === undefined) return await publicKeys(store);
  const keys = publicKeysIn(jwks);
  if (keys !== null) return keys;
  throw new HarnessError("invalid_request", "jwks must be a JSON Web Key Set.", { param: "jwks" });
}

/** RFC 3339 knows leap seconds; nothing here can compare them. */
function comparable(time: string | null | undefined): string | undefined {
  if (time == null || !Number.isNaN(Date.parse(time))) return time ?? undefined;
  throw new HarnessError("invalid_request", "at_time is not a time that can be compared.", {
    param: "at_time",
  });
}

/** The keys of this server, for everybody who verifies. */
function jwksRoute(kernel: Kernel): Route {
  return publicRoute({
    path: keySetPath,
    operationId: "getJwks",
    summary: "The public keys of this server, past and present.",
    tag,
    response: JwksSchema,
    handle: async () => ({ keys: await publishedKeys(kernel.store) }),
  });
}

const receipts: Route[] = [
  route({
    method: "GET",
    path: "/v1/receipts",
    operationId: "listReceipts",
    scope: "receipts:read",
    summary: "List receipts, newest first.",
    tag,
    query: pageQuery("workspace_id", "session_id", "task_id"),
    response: ListOf(ReceiptSchema),
    async handle(call) {
      const { workspace_id, session_id, task_id, cursor, limit } = call.query;
      const request = { workspaceId: workspace_id, sessionId: session_id, taskId: task_id, cursor, limit };
      return presentPage(await listReceipts(call.kernel, call.caller, request), (receipt) => receipt);
    },
  }),
  route({
    method: "POST",
    path: "/v1/receipts",
    operationId: "requestReceipt",
    scope: "receipts:write",
    summary:
      "Issue the receipt of an outcome, an event, an artifact or a tool call; the same subject has one receipt.",
    tag,
    status: 201,
    body: RequestReceiptRequest,
    response: ReceiptSchema,
    async handle(call) {
      const { object, id } = call.body.subject;
      const subject = { object: object === "tool_use" ? ("tool_call" as const) : object, id };
      const taskId = await taskOfSubject(call.kernel, call.caller, subject);
      const { receiptId } = await call.dispatch(requestReceipt, { subject, taskId });
      return await getReceipt(call.kernel, call.caller, receiptId);
    },
  }),
  route({
    method: "GET",
    path: "/v1/tasks/{task_id}/receipts",
    operationId: "listTaskReceipts",
    scope: "receipts:read",
    summary: "List the receipts of a task, newest first.",
    tag,
    query: PageQuery,
    response: ListOf(ReceiptSchema),
    async handle(call) {
      const request = { taskId: call.param("task_id"), ...call.query };
      return presentPage(await listTaskReceipts(call.kernel, call.caller, request), (receipt) => receipt);
    },
  }),
  route({
    method: "GET",
    path: "/v1/receipts/{receipt_id}",
    operationId: "getReceipt",
    scope: "receipts:read",
    summary: `Read a receipt: the signed text itself, as JSON or as ${cborType}.`,
    tag,
    response: ReceiptSchema,
    async handle(call) {
      const receipt = await getReceipt(call.kernel, call.caller, call.param("receipt_id"));
      call.reply.header("Vary", "Accept");
      if (!wantsCbor(call)) return receipt;
      call.reply.header("Content-Type", cborType);
      return Buffer.from(encodeReceipt(receipt));
    },
  }),
  route({
    method: "GET",
    path: "/v1/receipts/{receipt_id}/proof",
    operationId: "proveReceipt",
    scope: "receipts:read",
    summary: "Prove that a receipt is in its workspace's chain (RFC 6962).",
    tag,
    query: ReceiptProofQuery,
    response: ReceiptProof,
    handle: (call) => proveReceipt(call.kernel, call.caller, call.param("receipt_id"), call.query.tree_size),
  }),
  ...checkpointRoutes,
  route({
    method: "POST",
    path: "/v1/receipts/{receipt_id}/verify",
    operationId: "verifyReceipt",
    scope: "receipts:read",
    summary: "Verify a receipt of this server: every check by name.",
    tag,
    body: VerifyReceiptRequest,
    bodyOptional: true,
    response: ReceiptVerification,
    async handle(call) {
      const { checkedAt, ...verification } = await call.dispatch(verifyStoredReceipt, {
        receiptId: call.param("receipt_id"),
        trustAnchor: call.body.trust_anchor ?? undefined,
        atTime: comparable(call.body.at_time),
      });
      return presentVerification(verification, checkedAt, call.kernel.redactor);
    },
  }),
  route({
    method: "POST",
    path: "/v1/receipts/verify",
    operationId: "verifyForeignReceipt",
    scope: "receipts:read",
    summary: "Verify a receipt from anywhere, with the keys given or with this server's own.",
    tag,
    body: VerifyForeignReceiptRequest,
    reads: "strict_json",
    response: ReceiptVerification,
    async handle(call) {
      const { receipt, jwks } = splitForeign(call.body);
      const keys = await keysFor(jwks, call.store);
      return presentVerification(
        verifyReceipt(receipt, { keys }),
        timestamp(call.kernel.clock.now()),
        call.kernel.redactor,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/signing-keys/rotate",
    operationId: "rotateSigningKey",
    scope: "admin",
    summary: "Sign with a new key from now on. Old keys stay in the key set for verification.",
    tag,
    status: 201,
    response: SigningKey,
    async handle(call) {
      return presentRecord(await call.dispatch(rotateSigningKey, { next: newSigningKey() }));
    },
  }),
];

export function receiptRoutes(kernel: Kernel): Route[] {
  return [jwksRoute(kernel), ...receipts];
}

function wantsCbor({ request }: Call<unknown, unknown>): boolean {
  const ranges = (request.headers.accept ?? "").toLowerCase().split(",");
  return ranges.some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === cborType && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
