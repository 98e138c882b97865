/** A run that ended, with every step that can be given another value, before it is run again. */

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { Task } from "bridle/client";
import { type FormEvent, useId, useMemo, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { ReasonField } from "../../parts/ReasonField.tsx";
import { isFinal, Status } from "../../parts/Status.tsx";
import { saveBytes } from "../../parts/save.ts";
import { useRequest } from "../../parts/useRequest.ts";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/replay.css";
import { text } from "../../text.ts";
import type { RunView } from "../run/log.ts";
import { useRunView, useTask } from "../run/useRun.ts";
import { agentOf, inputText } from "../run/words.ts";
import { type Changes, editableSteps, problemIn, refusedStep, replayRequest } from "./changes.ts";
import { StepEditor } from "./StepEditor.tsx";

const route = getRouteApi("/inside/runs/$taskId/replay");
/** As the server names them. */
const liveKinds = ["llm", "mcp", "tool", "host", "secret", "time", "random", "step"] as const;

export function Replay() {
  useTitle(text.replay.title);
  const { taskId } = route.useParams();
  const { view, error, mayRead } = useRunView(taskId);
  const { data: task, error: taskError, refetch } = useTask(taskId, mayRead);
  return (
    <main className="page">
      <Link to="/runs/$taskId" params={{ taskId }} search={{}} className="back">
        <Icon name="back" />
        {text.replay.back}
      </Link>
      {taskError !== null && <ErrorNote error={taskError} onRetry={() => void refetch()} />}
      {error !== null && taskError === null && <ErrorNote error={error} />}
      {task !== undefined && (
        <>
          <header className="run__title">
            <p className="quiet">{text.replay.of}</p>
            <h1>
              <bdi>{inputText(task.input) || agentOf(task).name}</bdi>
            </h1>
            <div className="run__state">
              <Status status={task.status} />
              <span className="quiet">{agentOf(task).name}</span>
            </div>
          </header>
          <p className="replay__intro">{text.replay.intro}</p>
          {!mayRead && <p className="note">{text.error.noRight("events:read")}</p>}
          {isFinal(task.status) ? (
            <Editor task={task} view={view} />
          ) : (
            <p className="note">{text.replay.notEnded}</p>
          )}
        </>
      )}
    </main>
  );
}

function Editor({ task, view }: { task: Task; view: RunView }) {
  const { session } = useSession();
  const navigate = useNavigate();
  const { isBusy, error, send } = useRequest();
  const [changes, setChanges] = useState<Changes>(new Map());
  const [live, setLive] = useState<ReadonlySet<string>>(new Set());
  const [version, setVersion] = useState("");
  const [reason, setReason] = useState("");
  const steps = useMemo(() => editableSteps(view.outputs), [view]);
  const hasProblem = steps.some((step) => {
    const typed = changes.get(step.key);
    return typed !== undefined && problemIn(step, typed) !== null;
  });
  const refused = refusedStep(error, steps);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const options = { live: [...live], version: version === "" ? null : version, reason };
    return send(async () => {
      const { id } = await bridle.tasks.replay(task.id, replayRequest(steps, changes, options));
      await navigate({ to: "/runs/$taskId", params: { taskId: id }, search: { tab: "comparison" } });
    });
  };
  const change = (key: string, typed: string | null) => {
    const next = new Map(changes);
    if (typed === null) next.delete(key);
    else next.set(key, typed);
    setChanges(next);
  };
  if (!may(session, "tasks:write")) return <p className="note">{text.run.mayNot("tasks:write")}</p>;
  return (
    <form className="replay" onSubmit={(event) => void submit(event)}>
      <h2>{text.replay.steps}</h2>
      {steps.length === 0 && <p className="quiet">{text.replay.noSteps}</p>}
      <ol className="replay__steps">
        {steps.map((step) => (
          <StepEditor
            key={step.key}
            step={step}
            typed={changes.get(step.key) ?? null}
            error={refused === step.key ? error : null}
            onChange={(typed) => change(step.key, typed)}
          />
        ))}
      </ol>
      <h2>{text.replay.options}</h2>
      <Versions agent={agentOf(task).name} value={version} onChange={setVersion} />
      {may(session, "replays:live") && <Live live={live} onChange={setLive} />}
      <ReasonField label={text.replay.reason} value={reason} onChange={setReason} />
      {error !== null && refused === null && <ErrorNote error={error} />}
      <div className="replay__actions">
        <button type="submit" className="button button--primary" disabled={isBusy || hasProblem}>
          {changes.size === 0 ? text.replay.exact : text.replay.withChanges(changes.size)}
        </button>
        <Fixture taskId={task.id} />
      </div>
    </form>
  );
}

function Versions(props: { agent: string; value: string; onChange(version: string): void }) {
  const { agent, value, onChange } = props;
  const id = useId();
  const { data } = useQuery({
    queryKey: ["agent", agent],
    queryFn: ({ signal }) => bridle.agents.get(agent, { signal }),
  });
  if (data === undefined || data.versions.length < 2) return null;
  return (
    <div className="field">
      <label htmlFor={id}>{text.replay.version}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{text.replay.sameVersion}</option>
        {data.versions.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}

function Live(props: { live: ReadonlySet<string>; onChange(live: ReadonlySet<string>): void }) {
  const { live, onChange } = props;
  const toggle = (kind: string) => {
    const next = new Set(live);
    if (!next.delete(kind)) next.add(kind);
    onChange(next);
  };
  return (
    <fieldset className="replay__live">
      <legend>{text.replay.live}</legend>
      <p className="field__help">{text.replay.liveHelp}</p>
      {liveKinds.map((kind) => (
        <label key={kind}>
          <input type="checkbox" checked={live.has(kind)} onChange={() => toggle(kind)} />
          <code>{kind}</code>
        </label>
      ))}
    </fieldset>
  );
}

function Fixture({ taskId }: { taskId: string }) {
  const { error, send, isBusy } = useRequest();
  const download = async () => {
    const lines: string[] = [];
    for await (const line of bridle.tasks.export(taskId)) lines.push(line);
    saveBytes(`${taskId}.jsonl`, `${lines.join("\n")}\n`);
  };
  return (
    <>
      <button
        type="button"
        className="button"
        title={text.replay.fixtureHelp}
        disabled={isBusy && error === null}
        onClick={() => void send(download)}
      >
        <Icon name="download" />
        {text.replay.fixture}
      </button>
      {error !== null && <ErrorNote error={error} />}
    </>
  );
}
