/** A conversation with agents: what was said in a session, and what is to be said next. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { NotFound } from "bridle/client";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { isFinal, Status } from "../../parts/Status.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/talk.css";
import { text } from "../../text.ts";
import { Conversation, MessageTurn } from "../run/Conversation.tsx";
import { useTask } from "../run/useRun.ts";
import { agentOf } from "../run/words.ts";
import { Composer } from "./Composer.tsx";
import { useAgents } from "./useAgents.ts";
import { type TurnView, useTurns } from "./useTurns.ts";

const Frames = lazy(() => import("./Frames.tsx"));

const route = getRouteApi("/inside/talk/$sessionId");

/** Of a longer history the rest is in the session that it is of. */
const historyMax = 100;

export function TalkSession() {
  useTitle(text.talk.conversation);
  const { sessionId } = route.useParams();
  const { turns, error } = useTurns(sessionId);
  const end = useRef<HTMLDivElement>(null);
  const last = turns.at(-1);
  const said = (last?.view.said.length ?? 0) + turns.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is what was said that moves the page
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [said]);
  return (
    <main className="page">
      <Link to="/talk" search={{}} className="back">
        <Icon name="back" />
        {text.talk.all}
      </Link>
      <h1>{error instanceof NotFound ? text.talk.notFound : text.talk.conversation}</h1>
      {error !== null && !(error instanceof NotFound) && <ErrorNote error={error} />}
      <div className="talk-turns">
        <History sessionId={sessionId} />
        {turns.map((turn) => (
          <TurnOf key={turn.taskId} turn={turn} sessionId={sessionId} />
        ))}
      </div>
      {error === null && <Next key={last?.taskId} sessionId={sessionId} taskId={last?.taskId ?? null} />}
      <div ref={end} />
    </main>
  );
}

/** What a fork began with: it was said in another session. */
function History({ sessionId }: { sessionId: string }) {
  const { data } = useQuery({
    queryKey: ["history", sessionId],
    queryFn: async ({ signal }) => {
      const { parent_session_id, created_at } = await bridle.sessions.get(sessionId, { signal });
      if (parent_session_id === null) return [];
      const { items } = await bridle.sessions.messages(sessionId, { limit: historyMax, signal });
      return items.filter((message) => message.created_at <= created_at);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const said = data ?? [];
  if (said.length === 0) return null;
  return (
    <ol className="talk" aria-label={text.talk.history}>
      {said.map((message) => (
        <MessageTurn key={message.id} message={message} at={message.created_at} />
      ))}
    </ol>
  );
}

function TurnOf({ turn: { taskId, view, lastEventId }, sessionId }: { turn: TurnView; sessionId: string }) {
  const { data: task } = useTask(taskId, true);
  const { session } = useSession();
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>(null);
  const [hasFrames, setFrames] = useState(false);
  if (task === undefined) return null;
  const fork = async () => {
    const { id } = await bridle.sessions.fork(sessionId, { atEventId: lastEventId });
    await navigate({ to: "/talk/$sessionId", params: { sessionId: id } });
  };
  return (
    <section className="talk-turn" aria-label={agentOf(task).name}>
      <Conversation task={task} view={view} />
      {error !== null && <ErrorNote error={error} />}
      <p className="talk-turn__foot">
        <span>{agentOf(task).name}</span>
        <Status status={task.status} />
        <Link to="/runs/$taskId" params={{ taskId }} search={{}}>
          {text.talk.openRun}
        </Link>
        {isFinal(task.status) && may(session, "sessions:write") && (
          <button type="button" className="button button--quiet" onClick={() => fork().catch(setError)}>
            {text.talk.fork}
          </button>
        )}
        <button
          type="button"
          className="button button--quiet"
          aria-expanded={hasFrames}
          onClick={() => setFrames(!hasFrames)}
        >
          {text.talk.frames.open}
        </button>
      </p>
      {hasFrames && (
        <Suspense fallback={<p className="quiet">{text.loading}</p>}>
          <Frames task={task} />
        </Suspense>
      )}
    </section>
  );
}

/** What can be said now: nothing while the agent is at work or waits for an answer to what it asked. */
function Next({ sessionId, taskId }: { sessionId: string; taskId: string | null }) {
  const { data: task } = useTask(taskId, true);
  const { data } = useAgents();
  const { session } = useSession();
  const [chosen, setChosen] = useState<string | null>(null);
  if (data === undefined || (taskId !== null && task === undefined)) return null;
  if (task !== undefined && !isFinal(task.status)) {
    const isAsking = task.status === "INPUT_REQUIRED" || task.status === "AUTH_REQUIRED";
    return (
      <p className="quiet" role="status">
        {isAsking ? text.talk.asks : text.talk.busy}
      </p>
    );
  }
  const name = chosen ?? (task === undefined ? null : agentOf(task).name);
  const agent = data.items.find((one) => one.name === name) ?? data.items[0];
  if (agent === undefined || !may(session, "tasks:write")) return null;
  return (
    <Composer
      agents={data.items}
      agent={agent}
      sessionId={sessionId}
      onAgent={setChosen}
      onSubmitted={() => {}}
    />
  );
}
