/** What the agent wants to do, so that a person can judge it, and the two answers. */

import type { PermissionRequest } from "bridle/client";
import { type ReactNode, useId, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { LongText } from "../../parts/LongText.tsx";
import { Payload } from "../../parts/Payload.tsx";
import { Time } from "../../parts/Time.tsx";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { isRecord, stringIn } from "./words.ts";

const risks = ["low", "medium", "high", "critical"];

interface ApprovalProps {
  request: PermissionRequest;
  at: string;
  /** What else is to be said of it. */
  children?: ReactNode;
}

export function Approval({ request, at, children }: ApprovalProps) {
  const { request: asked, status, response, expires_at, approvers } = request;
  const risk = stringIn(asked, "risk") ?? "medium";
  const payload = isRecord(asked) ? asked.payload : undefined;
  return (
    <li
      className={`turn turn--asks approval approval--${risks.includes(risk) ? risk : "medium"}`}
      data-request=""
      tabIndex={-1}
    >
      <p className="turn__head">
        <strong>{text.run.approval}</strong>
        <span className="approval__risk">{text.run.risk(risk)}</span>
        <Time at={at} />
      </p>
      <div className="turn__body">
        <p className="approval__action">
          <LongText
            value={typeof request.action === "string" ? request.action : JSON.stringify(request.action)}
          />
        </p>
        {payload !== undefined && payload !== null && (
          <div className="approval__payload" role="group" aria-label={text.run.payload}>
            <Payload value={payload} />
          </div>
        )}
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
      </div>
    </li>
  );
}

function Answer({ request }: { request: PermissionRequest }) {
  const { session } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [reason, setReason] = useState("");
  const id = useId();
  if (!may(session, "approvals:write")) return <p className="quiet">{text.run.mayNot("approvals:write")}</p>;
  const answer = async (approved: boolean) => {
    setBusy(true);
    setError(null);
    const hash = stringIn(request.request, "artifact_hash");
    try {
      await bridle.approvals.respond(request.id, {
        approved,
        ...(reason === "" ? {} : { reason }),
        // What is answered is what is shown here, or nothing.
        ...(hash === null ? {} : { artifact_hash: hash }),
      });
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <div className="answer">
      {error !== null && <ErrorNote error={error} />}
      <div className="field">
        <label htmlFor={id}>{text.run.denyReason}</label>
        <input
          id={id}
          value={reason}
          maxLength={2000}
          onChange={({ target }) => setReason(target.value)}
          autoComplete="off"
        />
      </div>
      <div className="answer__buttons">
        <button
          type="button"
          className="button button--primary"
          disabled={busy}
          data-approve=""
          onClick={() => void answer(true)}
        >
          {text.run.approve}
        </button>
        <button
          type="button"
          className="button button--danger"
          disabled={busy}
          data-deny=""
          onClick={() => void answer(false)}
        >
          {text.run.deny}
        </button>
      </div>
    </div>
  );
}
