/** What waits for this approver's signature: opened in this browser, signed here, and only what was opened. */

import type { Approver, OpenedRequest, PendingRequest } from "bridle/approver";
import { useEffect, useId, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { LongText, printable } from "../../parts/LongText.tsx";
import { Payload } from "../../parts/Payload.tsx";
import { Time, useNow } from "../../parts/Time.tsx";
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

const risks = ["low", "medium", "high", "critical"];

function Opened({ approver, request }: { approver: Approver; request: OpenedRequest }) {
  const { artifact } = request;
  const { action, title, risk: given, details, ...more } = artifact.payload;
  const risk = typeof given === "string" ? given : "medium";
  const name = [title, action].find((one) => typeof one === "string") ?? artifact.artifactType;
  const shown = details === undefined ? more : { details, ...more };
  return (
    <li
      className={`turn turn--asks approval approval--${risks.includes(risk) ? risk : "medium"}`}
      data-request=""
      tabIndex={-1}
    >
      <p className="turn__head">
        <strong>{text.run.approval}</strong>
        <span className="approval__risk">{text.run.risk(printable(risk))}</span>
        <span>
          {text.run.expires} <Time at={artifact.expiresAt} />
        </span>
      </p>
      <div className="turn__body">
        <p className="approval__action">
          <LongText value={String(name)} />
        </p>
        <div className="approval__payload" role="group" aria-label={text.run.payload}>
          <Payload value={shown} />
        </div>
        <p className="quiet">
          {text.approvals.about}: <code>{printable(artifact.repoRef)}</code>
          <br />
          {text.approvals.hash}: <code className="fingerprint">{artifact.artifactHash}</code>
        </p>
        <Decide approver={approver} request={request} />
      </div>
    </li>
  );
}

function Decide({ approver, request }: { approver: Approver; request: OpenedRequest }) {
  const [state, setState] = useState<"open" | "signing" | "sent">("open");
  const [said, setSaid] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [reason, setReason] = useState("");
  const [id, helpId] = [useId(), useId()];
  const decide = async (isApproved: boolean) => {
    setState("signing");
    setError(null);
    const options = reason === "" ? {} : { reason };
    try {
      const answer = isApproved
        ? await approver.approve(request, options)
        : await approver.deny(request, options);
      setSaid(
        text.approvals.sent(
          stringIn(answer, "state") === null ? "" : isApproved ? text.run.approved : text.run.denied,
        ),
      );
      setState("sent");
    } catch (problem) {
      setError(problem);
      setState("open");
    }
  };
  return (
    <div className="answer">
      <div role="status">{state === "sent" && <p className="verdict">{said}</p>}</div>
      {error !== null && <ErrorNote error={error} />}
      {state !== "sent" && (
        <>
          <div className="field">
            <label htmlFor={id}>{text.run.denyReason}</label>
            <input
              id={id}
              value={reason}
              maxLength={500}
              onChange={({ target }) => setReason(target.value)}
              autoComplete="off"
              aria-describedby={helpId}
            />
            <p id={helpId} className="field__help">
              {text.approvals.reasonNote}
            </p>
          </div>
          <div className="answer__buttons">
            <button
              type="button"
              className="button button--primary"
              data-approve=""
              disabled={state === "signing"}
              onClick={() => void decide(true)}
            >
              {text.approvals.approveSigned}
            </button>
            <button
              type="button"
              className="button button--danger"
              data-deny=""
              disabled={state === "signing"}
              onClick={() => void decide(false)}
            >
              {text.approvals.denySigned}
            </button>
          </div>
        </>
      )}
    </div>
  );
}
