/** What agents ask permission for: decided here, signed in this browser where a signature is demanded. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { PermissionRequest } from "bridle/client";
import { lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { followChanges, mayFollow, pollMs } from "../../server/changes.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/approvals.css";
import { text } from "../../text.ts";
import { Approval } from "../run/Approval.tsx";
import { OnPhone } from "./OnPhone.tsx";
import { useKeys } from "./useKeys.ts";

const Signed = lazy(() => import("./Signed.tsx"));

/** Older requests than these are on the pages of their runs. */
const requestsMax = 200;
const decidedMax = 20;

export function Approvals() {
  useTitle(text.approvals.title);
  const { session } = useSession();
  const list = useRef<HTMLElement>(null);
  useKeys(list);
  const approverId =
    session?.scopes.flatMap((scope) => /^harp:approver:(.+)$/.exec(scope)?.[1] ?? [])[0] ?? null;
  return (
    <main className="page" ref={list}>
      <div className="page__head">
        <h1>{text.approvals.title}</h1>
        <OnPhone />
      </div>
      <p className="quiet approvals__keys">{text.approvals.keys}</p>
      {approverId !== null && (
        <Suspense fallback={<p className="quiet">{text.loading}</p>}>
          <Signed approverId={approverId} />
        </Suspense>
      )}
      {may(session, "tasks:read") && <Requests />}
    </main>
  );
}

function Requests() {
  const client = useQueryClient();
  const { session } = useSession();
  const isLive = mayFollow(session);
  const { data, error, refetch } = useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => bridle.approvals.list({ limit: requestsMax, signal }),
    ...(isLive ? {} : { refetchInterval: pollMs }),
  });
  useEffect(() => {
    if (!isLive) return;
    return followChanges({
      idOf: ({ resource }) => (resource.object === "permission_request" ? resource.id : null),
      onChanged: () => client.invalidateQueries({ queryKey: ["approvals"] }),
    });
  }, [client, isLive]);
  if (error !== null) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <p className="quiet">{text.loading}</p>;
  const waiting = data.items.filter(({ status }) => status === "pending");
  const decided = data.items.filter(({ status }) => status !== "pending").slice(0, decidedMax);
  return (
    <>
      {waiting.length === 0 ? (
        <Empty title={text.approvals.none}>
          <p>{text.approvals.noneHelp}</p>
        </Empty>
      ) : (
        <Section title={text.approvals.waiting} requests={waiting} />
      )}
      {decided.length > 0 && <Section title={text.approvals.decided} requests={decided} />}
    </>
  );
}

function Section({ title, requests }: { title: string; requests: readonly PermissionRequest[] }) {
  return (
    <section className="approvals" aria-label={title}>
      <h2>
        {title} <span className="tabs__count">{requests.length}</span>
      </h2>
      <ol className="talk">
        {requests.map((request) => (
          <Approval key={request.id} request={request} at={request.created_at}>
            <Quorum request={request} />
            <RunLink taskId={request.task_id} />
          </Approval>
        ))}
      </ol>
    </section>
  );
}

/** Who was asked for a signature, and what became of it. */
function Quorum({ request: { approvers } }: { request: PermissionRequest }): ReactNode {
  if (approvers.length === 0) return null;
  const states: Record<string, string> = text.approvals.states;
  const isApproved = (state: string) => state === "APPROVED" || state === "EXECUTED";
  return (
    <div className="quorum">
      <p className="quiet">
        {text.approvals.quorum(approvers.filter(({ state }) => isApproved(state)).length, approvers.length)}
      </p>
      <ul>
        {approvers.map(({ approver_id, request_id, state }) => (
          <li key={request_id}>
            <code>{approver_id}</code> {states[state] ?? text.approvals.stateWaiting}
          </li>
        ))}
      </ul>
    </div>
  );
}

function RunLink({ taskId }: { taskId: string | null }) {
  if (taskId === null) return null;
  return (
    <p>
      <Link to="/runs/$taskId" params={{ taskId }} search={{}}>
        {text.approvals.openRun}
      </Link>
    </p>
  );
}
