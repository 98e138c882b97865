/** Where deliveries of other systems come in, and what came of the last ones. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Connector, Task } from "bridle/client";
import { Copy } from "../../parts/Copy.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Status } from "../../parts/Status.tsx";
import { Time } from "../../parts/Time.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { inputText } from "../run/words.ts";

const words = text.operate.connectors;
const connectorsMax = 200;
/** Deliveries are looked for among the last so many tasks of the workspace. */
const tasksRead = 200;
const deliveriesShown = 10;
const lookMs = 10_000;

export default function Connectors() {
  const { session } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ["connectors"],
    queryFn: ({ signal }) => bridle.connectors.list({ limit: connectorsMax, signal }),
  });
  return (
    <>
      <h1>{text.operate.parts.connectors}</h1>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
          <p className="command">
            <code>{words.command}</code>
            <Copy value={words.command} />
          </p>
        </Empty>
      )}
      <ul className="cards">
        {data?.items.map((connector) => (
          <Item
            key={connector.id}
            connector={connector}
            mayChange={may(session, "connectors:write")}
            mayReadTasks={may(session, "tasks:read")}
          />
        ))}
      </ul>
    </>
  );
}

interface ItemProps {
  connector: Connector;
  mayChange: boolean;
  mayReadTasks: boolean;
}

function Item({ connector, mayChange, mayReadTasks }: ItemProps) {
  const client = useQueryClient();
  const { error, send } = useRequest();
  const { id, status, event_kinds, workspace_id, target_persona_id } = connector;
  const isPaused = status === "PAUSED";
  const toggle = async () => {
    await bridle.connectors.update(id, { status: isPaused ? "ACTIVE" : "PAUSED" });
    await client.invalidateQueries({ queryKey: ["connectors"] });
  };
  const address = `${location.origin}/v1/connectors/${id}/deliveries`;
  return (
    <li className="card">
      <div className="card__head">
        <code className="card__title">{id}</code>
        <span className={status === "ACTIVE" ? "tag" : "tag tag--warn"}>{words.states[status]}</span>
        {mayChange && (
          <span className="card__actions">
            <button
              type="button"
              className="button"
              aria-label={`${isPaused ? words.resume : words.pause} ${id}`}
              onClick={() => void send(toggle)}
            >
              {isPaused ? words.resume : words.pause}
            </button>
          </span>
        )}
      </div>
      <p className="quiet card__line">
        {words.address} <code>{address}</code>
        <Copy value={address} label={words.copyAddress} />
      </p>
      <p className="quiet">
        {workspace_id} · {words.goesTo} {target_persona_id ?? words.byTrigger} · {words.kinds}{" "}
        {event_kinds.length === 0 ? words.allKinds : event_kinds.map(printable).join(", ")}
      </p>
      {error !== null && <ErrorNote error={error} />}
      {mayReadTasks && <Deliveries connector={connector} />}
    </li>
  );
}

function Deliveries({ connector: { id, workspace_id } }: { connector: Connector }) {
  const { data } = useQuery({
    queryKey: ["deliveries", workspace_id],
    queryFn: ({ signal }) => bridle.tasks.list({ workspaceId: workspace_id, limit: tasksRead, signal }),
    refetchInterval: lookMs,
  });
  const own = data?.items.filter(({ created_by }) => created_by === id).slice(0, deliveriesShown) ?? [];
  if (data !== undefined && own.length === 0) return <p className="quiet">{words.noDeliveries(tasksRead)}</p>;
  return (
    <ul className="rows" aria-label={words.deliveries}>
      {own.map((task: Task) => (
        <li key={task.id} className="row">
          <Status status={task.status} />
          <Link to="/runs/$taskId" params={{ taskId: task.id }} search={{}} className="clip">
            <bdi>{inputText(task.input) || task.id}</bdi>
          </Link>
          <Time at={task.created_at} />
        </li>
      ))}
    </ul>
  );
}
