/** What an empty server shows: something to watch at once, and the way to an agent of one's own. */

import { Link, useNavigate } from "@tanstack/react-router";
import { Copy } from "../../parts/Copy.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/talk.css";
import { text } from "../../text.ts";
import { useAgents } from "../talk/useAgents.ts";

/** Slow enough to be watched. */
const proofreadMs = 6000;

export function Start() {
  const { data } = useAgents();
  const { session } = useSession();
  const hasTour = data?.items.some(({ name }) => name === "tour") ?? false;
  return (
    <section className="start" aria-label={text.start.title}>
      {hasTour && may(session, "tasks:write") && <Tour />}
      <div className="start__card">
        <h2>{text.start.own}</h2>
        <p className="quiet">{text.start.ownHelp}</p>
        {text.start.ownCommands.map((command) => (
          <p key={command} className="command">
            <code>{command}</code>
            <Copy value={command} label={`${text.copy} ${command}`} />
          </p>
        ))}
        <Link to="/talk" search={{}}>
          {text.start.give}
        </Link>
      </div>
    </section>
  );
}

function Tour() {
  const navigate = useNavigate();
  const { isBusy, error, send } = useRequest();
  const run = async () => {
    const { id } = await bridle.tasks.submit({ agent: "tour", input: { proofread_ms: proofreadMs } });
    await navigate({ to: "/runs/$taskId", params: { taskId: id }, search: { tab: "timeline" } });
  };
  return (
    <div className="start__card">
      <h2>{text.start.tour}</h2>
      <p>{text.start.tourHelp}</p>
      {error !== null && <ErrorNote error={error} />}
      <button
        type="button"
        className="button button--primary"
        disabled={isBusy}
        onClick={() => void send(run)}
      >
        {text.start.runTour}
      </button>
    </div>
  );
}
