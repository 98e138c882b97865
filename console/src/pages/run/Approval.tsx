/** What the agent wants to do, so that a person can judge it, and the two answers. */

import type { PermissionRequest } from "bridle/client";
import type { ReactNode } from "react";
import { ApprovalCard } from "../../parts/ApprovalCard.tsx";
import { LongText } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { Verdict } from "../../parts/Verdict.tsx";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { isRecord, stringIn } from "./words.ts";

interface ApprovalProps {
  request: PermissionRequest;
  at: string;
  /** What else is to be said of it. */
  children?: ReactNode;
}

export function Approval({ request, at, children }: ApprovalProps) {
  const { request: asked, status, response, expires_at, approvers } = request;
  return (
    <ApprovalCard
      risk={stringIn(asked, "risk")}
      when={<Time at={at} />}
      action={typeof request.action === "string" ? request.action : JSON.stringify(request.action)}
      payload={isRecord(asked) ? asked.payload : undefined}
    >
      {status === "pending" && approvers.length > 0 && (
        <p className="note">
          {text.run.signatureOnly} {approvers.map(({ approver_id }) => approver_id).join(", ")}
        </p>
      )}
      {status === "pending" && approvers.length === 0 && <Answer request={request} />}
      {status === "pending" && (
        <p className="quiet">
          {text.run.expires} <Time at={expires_at} />
        </p>
      )}
      {status !== "pending" && (
        <p className={`verdict verdict--${status}`}>
          {text.run[status]}{" "}
          {text.run.decidedBy(
            stringIn(response, "reviewer") ?? stringIn(response, "decided_by") ?? text.none,
          )}
          {stringIn(response, "reason") !== null && (
            <>
              {": "}
              <LongText value={stringIn(response, "reason") ?? ""} />
            </>
          )}
        </p>
      )}
      {children}
    </ApprovalCard>
  );
}

function Answer({ request }: { request: PermissionRequest }) {
  const { session } = useSession();
  if (!may(session, "approvals:write")) return <p className="quiet">{text.run.mayNot("approvals:write")}</p>;
  const decide = async (approved: boolean, reason: { reason?: string }) => {
    const hash = stringIn(request.request, "artifact_hash");
    // The hash binds the answer to what is shown here.
    const shown = hash === null ? {} : { artifact_hash: hash };
    await bridle.approvals.respond(request.id, { approved, ...reason, ...shown });
  };
  return <Verdict approve={text.run.approve} deny={text.run.deny} decide={decide} />;
}
