/** Who agents are for this tenant: what each persona may do. */

import { Link } from "@tanstack/react-router";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { text } from "../../text.ts";
import { usePersonas } from "./usePersonas.ts";

export default function Personas() {
  const words = text.operate.personas;
  const { data, error, refetch } = usePersonas();
  return (
    <>
      <h1>{text.operate.parts.personas}</h1>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      <ul className="cards">
        {data?.items.map(({ id, name, version, entry_workflow, autonomy_tier, disabled, ...more }) => (
          <li key={id} className="card">
            <div className="card__head">
              <Link to="/operate/personas/$personaId" params={{ personaId: id }}>
                <bdi>{printable(name)}</bdi>
              </Link>
              <span className="tag">{words.tiers[autonomy_tier]}</span>
              {disabled === true && <span className="tag tag--bad">{words.disabled}</span>}
              {more.pending_change !== undefined && <span className="tag tag--warn">{words.pending}</span>}
            </div>
            {more.description !== "" && (
              <p>
                <bdi>{printable(more.description)}</bdi>
              </p>
            )}
            <p className="quiet">
              <code>{id}</code> · {words.agent} <code>{printable(entry_workflow)}</code> · {words.version}{" "}
              {printable(version)}
            </p>
          </li>
        ))}
      </ul>
    </>
  );
}
