/** What waits for this approver's signature: opened in this browser, signed here, and only what was opened. */

import type { Approver, OpenedRequest, PendingRequest } from "bridle/approver";
import { useEffect, useState } from "react";
import { ApprovalCard } from "../../parts/ApprovalCard.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Time, useNow } from "../../parts/Time.tsx";
import { Verdict } from "../../parts/Verdict.tsx";
import { text } from "../../text.ts";
import { stringIn } from "../run/words.ts";

export function Inbox({ approver }: { approver: Approver }) {
  const [requests, setRequests] = useState<ReadonlyMap<string, PendingRequest>>(new Map());
  const [trouble, setTrouble] = useState<string | null>(null);
  const now = useNow();
  useEffect(() => {
    const gone = new AbortController();
    const onTrouble = (error: unknown) => setTrouble(error instanceof Error ? error.message : String(error));
    const read = async () => {
      for await (const request of approver.watch(gone.signal, { onTrouble })) {
        setTrouble(null);
        setRequests((known) => new Map(known).set(request.requestId, request));
      }
    };
    read().catch((error: unknown) => {
      if (!gone.signal.aborted) onTrouble(error);
    });
    return () => gone.abort();
  }, [approver]);
  const waiting = [...requests.values()].filter(
    (request) => !request.isOpened || Date.parse(request.artifact.expiresAt) > now,
  );
  return (
    <>
      <div role="status">{trouble !== null && <p className="note">{text.approvals.trouble(trouble)}</p>}</div>
      {waiting.length === 0 && <p>{text.approvals.inboxEmpty}</p>}
      <ol className="talk">
        {waiting.map((request) =>
          request.isOpened ? (
            <Opened key={request.requestId} approver={approver} request={request} />
          ) : (
            <li key={request.requestId} className="turn">
              <p>{text.approvals.sealed}</p>
              <p className="quiet">
                <code>{request.problem.code}</code> {printable(request.problem.message)}
              </p>
            </li>
          ),
        )}
      </ol>
    </>
  );
}

function Opened({ approver, request }: { approver: Approver; request: OpenedRequest }) {
  const { artifact } = request;
  const { action, title, risk, details, ...more } = artifact.payload;
  const name = [title, action].find((one) => typeof one === "string") ?? artifact.artifactType;
  return (
    <ApprovalCard
      risk={typeof risk === "string" ? risk : null}
      when={
        <span>
          {text.run.expires} <Time at={artifact.expiresAt} />
        </span>
      }
      action={String(name)}
      payload={details === undefined ? more : { details, ...more }}
    >
      <p className="quiet">
        {text.approvals.about}: <code>{printable(artifact.repoRef)}</code>
        <br />
        {text.approvals.hash}: <code className="fingerprint">{artifact.artifactHash}</code>
      </p>
      <Decide approver={approver} request={request} />
    </ApprovalCard>
  );
}

function Decide({ approver, request }: { approver: Approver; request: OpenedRequest }) {
  const [said, setSaid] = useState<string | null>(null);
  const decide = async (isApproved: boolean, reason: { reason?: string }) => {
    const answer = await (isApproved ? approver.approve(request, reason) : approver.deny(request, reason));
    const verdict = isApproved ? text.run.approved : text.run.denied;
    setSaid(text.approvals.sent(stringIn(answer, "state") === null ? "" : verdict));
  };
  return (
    <>
      <div role="status">{said !== null && <p className="verdict">{said}</p>}</div>
      {said === null && (
        <Verdict
          approve={text.approvals.approveSigned}
          deny={text.approvals.denySigned}
          reasonCharsMax={500}
          reasonHelp={text.approvals.reasonNote}
          decide={decide}
        />
      )}
    </>
  );
}
