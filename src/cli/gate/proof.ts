/**
 * `bridle gate proof` and `verify`: a file with what was shown, what was signed and by whom, what ran, and the server's receipt
 * about all that, which is checked by its keys alone.
 */

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { gateRecordName } from "../../agents/gate.ts";
import { readArtifact } from "../../harp/core/artifact.ts";
import { readApprovalProof } from "../../harp/core/proof.ts";
import { publicKeysIn } from "../../receipts/public-keys.ts";
import { verifyReceipt } from "../../receipts/verify.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import type { Artifact, Task } from "../../sdk/client/index.ts";
import type { Remote, RemoteSettings } from "../remote.ts";
import { taskIdOf } from "../task/find-task.ts";
import { type JsonSettings, show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { proofOf } from "./decision.ts";
import { gateRemote } from "./gate-remote.ts";
import { detailsIn, digestOf, whyNotSigned } from "./verify.ts";

const format = "bridle-gate-proof-1";

export async function exportProof(
  named: string,
  settings: RemoteSettings & JsonSettings & { out?: string },
): Promise<void> {
  const remote = gateRemote(settings);
  const taskId = await taskIdOf(remote.client, named);
  const task = await remote.client.tasks.get(taskId);
  if (task.receipt_id === null) throw new Error(`${taskId} has not ended yet, or has no receipt.`);
  const { items } = await remote.client.approvals.list({ taskId });
  const [asked] = items;
  const proof = {
    format,
    task_id: taskId,
    // As text: the receipt has the hash of exactly this.
    record: await recordOf(remote, task),
    approval: asked === undefined ? null : await proofOf(remote, asked.id),
    receipt: await remote.client.receipts.get(task.receipt_id),
    jwks: { keys: await remote.client.receipts.keys() },
  };
  const text = `${JSON.stringify(proof, null, 2)}\n`;
  if (settings.out === undefined) process.stdout.write(text);
  else {
    writeFileSync(settings.out, text, { mode: 0o600 });
    show(
      settings,
      { task_id: taskId, file: settings.out },
      () => `The proof of ${taskId} is in ${settings.out}.\n`,
    );
  }
}

async function recordOf(remote: Remote, { id, outcome_id }: Task): Promise<string> {
  const path = `/v1/outcomes/${encodeURIComponent(outcome_id ?? "")}`;
  const { artifacts } = await remote.json<{ artifacts: Artifact[] }>("GET", path);
  const record = artifacts.find(({ name }) => name === gateRecordName);
  if (record !== undefined)
    return await remote.text(`/v1/artifacts/${encodeURIComponent(record.id)}/content`);
  throw new Error(`${id} has no record of a gate.`);
}

export interface CheckedProof {
  /** What is wrong; empty when everything holds together. */
  problems: string[];
  record: Record<string, unknown>;
  approvers: string[];
  shown: unknown[];
}

async function verifyProof(value: unknown): Promise<CheckedProof> {
  if (!isRecord(value) || value.format !== format) {
    return { problems: ["It is not a proof of bridle gate."], record: {}, approvers: [], shown: [] };
  }
  const { approval, jwks, task_id } = value;
  const receipt = isRecord(value.receipt) ? value.receipt : {};
  const problems: string[] = [];
  const { valid, reason } = verifyReceipt(receipt, { keys: publicKeysIn(jwks) ?? [] });
  if (!valid) problems.push(`The receipt is not valid: ${reason}`);
  if (!isRecord(receipt.subject) || receipt.subject.id !== task_id)
    problems.push("The receipt is about another task.");
  const record = readRecord(value.record);
  if (!isTold(receipt, value.record)) problems.push("The record is not the one that the receipt is about.");
  const { request, digest, decision, result } = record;
  if (!isRecord(request)) problems.push("What was asked is not there.");
  else if (digestOf(request) !== digest && !JSON.stringify(request).includes("[redacted")) {
    problems.push("What was asked is not what its digest says.");
  }
  const signed = isRecord(approval) ? approval : null;
  const isApproved = isRecord(result) && result.verdict === "approved";
  if (decision === "ask" && isApproved) problems.push(...(await signatureProblems(signed, record, receipt)));
  return { problems, record, ...peopleIn(signed) };
}

function readRecord(text: unknown): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(String(text));
    return isRecord(found) ? found : {};
  } catch {
    return {};
  }
}

function isTold({ final_artifacts }: Record<string, unknown>, text: unknown): boolean {
  const hash = `sha256:${createHash("sha256").update(String(text)).digest("hex")}`;
  const artifacts: unknown[] = Array.isArray(final_artifacts) ? final_artifacts : [];
  return artifacts.some((artifact) => isRecord(artifact) && artifact.sha256 === hash);
}

async function signatureProblems(
  approval: Record<string, unknown> | null,
  { action, risk, request, digest }: Record<string, unknown>,
  receipt: Record<string, unknown>,
): Promise<string[]> {
  if (approval === null || !Array.isArray(approval.artifacts)) {
    return ["No signatures are there."];
  }
  const { proof, artifacts } = approval;
  const asked = {
    action: String(action),
    risk: String(risk),
    request: isRecord(request) ? request : {},
    digest: String(digest),
  };
  const why = await whyNotSigned(proof, artifacts, asked).catch(() => "they cannot be read");
  if (why !== null) return [`The signatures do not hold: ${why}`];
  const receipted = JSON.stringify(receipt.approvals ?? []);
  const { decisions } = readApprovalProof(proof, "proof");
  const isInReceipt = decisions.every(({ decision }) =>
    receipted.includes(JSON.stringify(decision.signature)),
  );
  return isInReceipt ? [] : ["The receipt does not have these signatures."];
}

function peopleIn(approval: Record<string, unknown> | null): Pick<CheckedProof, "approvers" | "shown"> {
  const proof = isRecord(approval?.proof) ? approval.proof : {};
  const decisions: unknown[] = Array.isArray(proof.decisions) ? proof.decisions : [];
  const artifacts: unknown[] = Array.isArray(approval?.artifacts) ? approval.artifacts : [];
  const nameOf = (signed: unknown) => {
    if (!isRecord(signed) || !isRecord(signed.decision)) return [];
    return [`${String(signed.approverId)} (key ${String(signed.decision.signerKeyId)})`];
  };
  return { approvers: decisions.flatMap(nameOf), shown: artifacts.flatMap(shownIn) };
}

function shownIn(artifact: unknown): unknown[] {
  try {
    return [detailsIn(readArtifact(artifact))];
  } catch {
    return [];
  }
}

export async function verifyFile(file: string, settings: JsonSettings): Promise<void> {
  const value: unknown = JSON.parse(readFileSync(file, "utf8"));
  const { problems, record, approvers, shown } = await verifyProof(value);
  const isValid = problems.length === 0;
  show(settings, { valid: isValid, problems, approvers, shown, record }, () => {
    const lines = [
      isValid ? `${file} is valid.` : `${file} is NOT valid.`,
      ...problems,
      `Decided by  ${approvers.length > 0 ? approvers.join(", ") : "the policy; nobody was asked"}`,
      `About       ${String(record.action)}`,
      `Came to     ${JSON.stringify(record.result)}`,
    ];
    return lines.map((line) => `${oneLine(line)}\n`).join("");
  });
  if (!isValid) process.exitCode = 1;
}
