/** Who can be talked to, and what was talked about before. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Task } from "bridle/client";
import { lazy, Suspense, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Status } from "../../parts/Status.tsx";
import { Time } from "../../parts/Time.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/talk.css";
import { text } from "../../text.ts";
import { agentOf, inputText } from "../run/words.ts";
import { Composer } from "./Composer.tsx";
import { useAgents } from "./useAgents.ts";

const route = getRouteApi("/inside/talk");

const AgentCard = lazy(() => import("./AgentCard.tsx"));

/** Older conversations are found in the list of runs. */
const tasksMax = 100;
const conversationsMax = 12;

export function Talk() {
  useTitle(text.talk.title);
  const { session } = useSession();
  const { agent: wanted } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error } = useAgents();
  const [isCardOpen, setCardOpen] = useState(false);
  const agents = data?.items ?? [];
  const agent = agents.find(({ name }) => name === wanted) ?? agents[0];
  return (
    <main className="page">
      <h1>{text.talk.title}</h1>
      <p className="quiet">{text.talk.intro}</p>
      {error !== null && <ErrorNote error={error} />}
      {data !== undefined && agent === undefined && <p className="note">{text.talk.noAgents}</p>}
      {agent !== undefined && (
        <section className="talk-start" aria-label={text.talk.startWith(agent.name)}>
          <h2>{text.talk.startWith(agent.name)}</h2>
          <p className="quiet">{agent.description}</p>
          {may(session, "tasks:write") ? (
            <Composer
              key={agent.name}
              {...{ agents, agent }}
              onAgent={(name) => void navigate({ search: { agent: name }, replace: true })}
              onSubmitted={(sessionId) => void navigate({ to: "/talk/$sessionId", params: { sessionId } })}
            />
          ) : (
            <p className="note">{text.run.mayNot("tasks:write")}</p>
          )}
          <button
            type="button"
            className="button button--quiet"
            aria-expanded={isCardOpen}
            onClick={() => setCardOpen(!isCardOpen)}
          >
            {text.talk.card.open}
          </button>
          {isCardOpen && (
            <Suspense fallback={<p className="quiet">{text.loading}</p>}>
              <AgentCard key={agent.name} agent={agent.name} />
            </Suspense>
          )}
        </section>
      )}
      <Recent />
    </main>
  );
}

function Recent() {
  const { data } = useQuery({
    queryKey: ["conversations"],
    queryFn: ({ signal }) => bridle.tasks.list({ limit: tasksMax, signal }),
  });
  const conversations = conversationsIn(data?.items ?? []);
  return (
    <section className="talk-recent" aria-label={text.talk.recent}>
      <h2>{text.talk.recent}</h2>
      {data !== undefined && conversations.length === 0 && <p className="quiet">{text.talk.none}</p>}
      <ul>
        {conversations.map(({ first, last }) => (
          <li key={first.session_id}>
            <Link
              to="/talk/$sessionId"
              params={{ sessionId: first.session_id }}
              className="talk-recent__link"
            >
              <bdi>{inputText(first.input) || agentOf(first).name}</bdi>
            </Link>
            <span className="quiet">
              {agentOf(last).name} · <Time at={last.created_at} />
            </span>
            <Status status={last.status} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The tasks of each session together, newest first as the list is. */
function conversationsIn(tasks: readonly Task[]): { first: Task; last: Task }[] {
  const bySession = Map.groupBy(tasks, ({ session_id }) => session_id);
  return [...bySession.values()].slice(0, conversationsMax).flatMap((group) => {
    const [last, first] = [group[0], group.at(-1)];
    return last === undefined || first === undefined ? [] : [{ first, last }];
  });
}
