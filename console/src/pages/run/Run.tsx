/** One run: what was said, what was done, what it waits for, and what came of it. */

import { getRouteApi, Link } from "@tanstack/react-router";
import { type Task, NotFound as TaskNotFound } from "bridle/client";
import { Tabs } from "radix-ui";
import { lazy, Suspense, useEffect, useRef } from "react";
import { Id } from "../../parts/Copy.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { Status } from "../../parts/Status.tsx";
import { Time, Took } from "../../parts/Time.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import "../../styles/run.css";
import "../../styles/timeline.css";
import { text } from "../../text.ts";
import { Actions } from "./Actions.tsx";
import { Conversation } from "./Conversation.tsx";
import { endOf } from "./ended.ts";
import type { RunView } from "./log.ts";
import { RunLink } from "./RunLink.tsx";
import { Timeline } from "./Timeline.tsx";
import { type RunTab, runTabs } from "./tabs.ts";
import { useRunView, useTask } from "./useRun.ts";
import { Webhooks } from "./Webhooks.tsx";
import { Why } from "./Why.tsx";
import { agentOf, inputText, usd } from "./words.ts";

const Comparison = lazy(() => import("../replay/Comparison.tsx"));
const Artifacts = lazy(() => import("./Artifacts.tsx"));
const Events = lazy(() => import("./Events.tsx"));
const Receipt = lazy(() => import("./Receipt.tsx"));

const route = getRouteApi("/inside/runs/$taskId");

export function Run() {
  const { taskId } = route.useParams();
  const { view, error, mayRead } = useRunView(taskId);
  const { data: task, error: taskError, refetch } = useTask(taskId, mayRead);
  const agent = task === undefined ? "" : agentOf(task).name;
  useTitle(task === undefined ? text.run.title : text.run.of(agent));
  return (
    <main className="page page--wide">
      <Link to="/runs" search={{}} className="back">
        <Icon name="back" />
        {text.run.back}
      </Link>
      {taskError instanceof TaskNotFound && (
        <div className="empty">
          <h1>{text.run.notFound}</h1>
          <p>{text.run.notFoundHelp}</p>
        </div>
      )}
      {taskError !== null && !(taskError instanceof TaskNotFound) && (
        <ErrorNote error={taskError} onRetry={() => void refetch()} />
      )}
      {error !== null && taskError === null && <ErrorNote error={error} />}
      {task === undefined && taskError === null && <p className="quiet">{text.loading}</p>}
      {task !== undefined && <Loaded task={task} view={view} mayRead={mayRead} />}
    </main>
  );
}

function Loaded({ task, view, mayRead }: { task: Task; view: RunView; mayRead: boolean }) {
  const { tab = "conversation" } = route.useSearch();
  const navigate = route.useNavigate();
  const words = inputText(task.input);
  const tabs = useRef<HTMLDivElement>(null);
  // On a narrow page the tabs are wider than the window.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is selected then
  useEffect(() => {
    tabs.current
      ?.querySelector("[aria-selected=true]")
      ?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tab]);
  return (
    <>
      <header className="run__head">
        <div className="run__title">
          <h1>
            <bdi>{words === "" ? text.run.of(agentOf(task).name) : words}</bdi>
          </h1>
          <div className="run__state">
            <Status status={task.status} />
            <span className="quiet">{agentOf(task).name}</span>
          </div>
        </div>
        <Actions task={task} view={view} />
      </header>
      <div className="run__columns">
        <div className="run__main">
          <Why task={task} />
          {mayRead ? (
            <Tabs.Root
              value={tab}
              onValueChange={(next) => void navigate({ search: { tab: next as RunTab }, replace: true })}
              activationMode="manual"
            >
              <Tabs.List ref={tabs} className="tabs" aria-label={text.run.title}>
                {runTabs
                  .filter((one) => one !== "comparison" || task.replay !== null)
                  .map((one) => (
                    <Tabs.Trigger key={one} value={one} className="tabs__tab">
                      {text.run.tabs[one]}
                      <TabCount tab={one} view={view} />
                    </Tabs.Trigger>
                  ))}
              </Tabs.List>
              <Tabs.Content value={tab} className="tabs__content" tabIndex={-1}>
                <Suspense fallback={<p className="quiet">{text.loading}</p>}>
                  <TabContent tab={tab} task={task} view={view} />
                </Suspense>
              </Tabs.Content>
            </Tabs.Root>
          ) : (
            <p className="note">{text.error.noRight("events:read")}</p>
          )}
        </div>
        <Facts task={task} view={view} />
      </div>
    </>
  );
}

function TabCount({ tab, view }: { tab: RunTab; view: RunView }) {
  const counts: Partial<Record<RunTab, number>> = {
    timeline: view.steps.size,
    artifacts: view.artifacts.size,
    events: view.events.length,
  };
  const n = counts[tab] ?? 0;
  return n === 0 ? null : <span className="tabs__count">{n.toLocaleString("en")}</span>;
}

function TabContent({ tab, task, view }: { tab: RunTab; task: Task; view: RunView }) {
  switch (tab) {
    case "conversation":
      return <Conversation task={task} view={view} />;
    case "timeline":
      return <Timeline task={task} view={view} />;
    case "artifacts":
      return <Artifacts artifacts={view.artifacts} />;
    case "events":
      return <Events events={view.events} />;
    case "receipt":
      return <Receipt task={task} />;
    case "comparison":
      return task.replay === null ? null : (
        <Comparison task={task} view={view} sourceId={task.replay.source_task_id} />
      );
  }
}

function Facts({ task, view: { usage, events } }: { task: Task; view: RunView }) {
  const { facts } = text.run;
  const trace = events.find(({ trace_id }) => trace_id !== null)?.trace_id ?? null;
  const { id, session_id, persona_id, created_by, started_at, parent_task_id, replay, workspace_id } = task;
  const rows: [string, React.ReactNode][] = [
    [facts.started, <Time key="t" at={started_at ?? task.created_at} />],
    [facts.took, started_at === null ? text.none : <Took key="t" from={started_at} to={endOf(task)} />],
    [facts.steps, usage.steps.toLocaleString("en")],
    ...(usage.inputTokens + usage.outputTokens === 0
      ? []
      : [[facts.tokens, text.run.tokens(usage.inputTokens, usage.outputTokens)] as [string, string]]),
    ...(usage.usd === null ? [] : [[facts.cost, usd(usage.usd)] as [string, string]]),
    [facts.id, <Id key="i" value={id} />],
    [
      facts.session,
      <Link key="s" to="/runs" search={{ session: session_id }} className="mono clip" title={session_id}>
        {session_id}
      </Link>,
    ],
    [
      facts.persona,
      <span key="p" className="mono">
        {persona_id ?? text.none}
      </span>,
    ],
    [facts.by, created_by],
    [
      facts.workspace,
      <span key="w" className="mono">
        {workspace_id}
      </span>,
    ],
    ...(trace === null ? [] : [[facts.trace, <Id key="t" value={trace} />] as [string, React.ReactNode]]),
    ...(parent_task_id === null || parent_task_id === replay?.source_task_id
      ? []
      : [[facts.parent, <RunLink key="p" id={parent_task_id} />] as [string, React.ReactNode]]),
    ...(replay === null
      ? []
      : [[facts.replayOf, <RunLink key="r" id={replay.source_task_id} />] as [string, React.ReactNode]]),
  ];
  return (
    <aside className="run__facts" aria-label={text.run.title}>
      <dl className="facts">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <Webhooks taskId={id} updatedAt={task.updated_at} />
    </aside>
  );
}
