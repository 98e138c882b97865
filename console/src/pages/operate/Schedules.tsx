/** Work that the clock gives to personas, with the next times. */

import { useQueryClient } from "@tanstack/react-query";
import type { Persona } from "bridle/client";
import { Cron } from "croner";
import { type FormEvent, useId, useState } from "react";
import { Confirm } from "../../parts/Confirm.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { inputText } from "../run/words.ts";
import { usePersonas } from "./usePersonas.ts";

type Schedule = NonNullable<Persona["schedules"]>[number];

const words = text.operate.schedules;
const ticksShown = 3;

export default function Schedules() {
  const { session } = useSession();
  const { data, error, refetch } = usePersonas();
  const [isCreating, setCreating] = useState(false);
  const mayChange = may(session, "personas:write");
  const all = (data?.items ?? []).flatMap((persona) =>
    (persona.schedules ?? []).map((schedule) => ({ persona, schedule })),
  );
  return (
    <>
      <div className="page__head">
        <h1>{text.operate.parts.schedules}</h1>
        {mayChange && data !== undefined && data.items.length > 0 && (
          <button type="button" className="button button--primary" onClick={() => setCreating(true)}>
            {words.create}
          </button>
        )}
      </div>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined && all.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      <ul className="cards">
        {all.map(({ persona, schedule }) => (
          <Item key={schedule.id} {...{ persona, schedule, mayChange }} />
        ))}
      </ul>
      {isCreating && <Create personas={data?.items ?? []} onClose={() => setCreating(false)} />}
    </>
  );
}

interface ItemProps {
  persona: Persona;
  schedule: Schedule;
  mayChange: boolean;
}

function Item({ persona, schedule, mayChange }: ItemProps) {
  const save = useSave();
  const { error, send } = useRequest();
  const [isDeleting, setDeleting] = useState(false);
  const { cron, time_zone = "UTC", paused = false, input } = schedule;
  const others = (persona.schedules ?? []).filter(({ id }) => id !== schedule.id);
  const name = `${cron} ${persona.name}`;
  return (
    <li className="card">
      <div className="card__head">
        <code className="card__title">{printable(cron)}</code>
        <span className="quiet">{printable(time_zone)}</span>
        {paused && <span className="tag tag--warn">{words.paused}</span>}
        {mayChange && (
          <span className="card__actions">
            <button
              type="button"
              className="button"
              aria-label={`${paused ? words.resume : words.pause} ${name}`}
              onClick={() => void send(() => save(persona, [...others, { ...schedule, paused: !paused }]))}
            >
              {paused ? words.resume : words.pause}
            </button>
            <button
              type="button"
              className="button button--danger"
              aria-label={`${words.delete} ${name}`}
              onClick={() => setDeleting(true)}
            >
              {words.delete}
            </button>
          </span>
        )}
      </div>
      <p>
        {words.gives} <bdi>{printable(persona.name)}</bdi>
        {input !== undefined && (
          <>
            {": "}
            <bdi>{printable(inputText(input))}</bdi>
          </>
        )}
      </p>
      {!paused && <Ticks cron={cron} timeZone={time_zone} />}
      {error !== null && <ErrorNote error={error} />}
      {isDeleting && (
        <Confirm
          title={words.deleteTitle}
          help={words.deleteHelp}
          confirm={words.delete}
          isDangerous
          act={() => save(persona, others)}
          onClose={() => setDeleting(false)}
        />
      )}
    </li>
  );
}

function Ticks({ cron, timeZone }: { cron: string; timeZone: string }) {
  const ticks = ticksOf(cron, timeZone);
  if (typeof ticks === "string") return <p className="quiet">{ticks}</p>;
  return (
    <p className="quiet">
      {words.next}{" "}
      {ticks.map((at, n) => (
        <span key={at}>
          {n > 0 && ", "}
          <Time at={at} />
        </span>
      ))}
    </p>
  );
}

/** What is wrong with it, in words, where something is. The server reads it with the same library. */
function ticksOf(cron: string, timeZone: string): string[] | string {
  try {
    return new Cron(cron, { timezone: timeZone }).nextRuns(ticksShown).map((at) => at.toISOString());
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function useSave(): (persona: Persona, schedules: Schedule[]) => Promise<void> {
  const client = useQueryClient();
  return async ({ id }, schedules) => {
    await bridle.personas.update(id, { schedules });
    await client.invalidateQueries({ queryKey: ["personas"] });
  };
}

function Create({ personas, onClose }: { personas: readonly Persona[]; onClose(): void }) {
  const save = useSave();
  const { isBusy, error, send } = useRequest();
  const [cron, setCron] = useState("0 7 * * 1-5");
  const [timeZone, setTimeZone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  const ids = { persona: useId(), cron: useId(), zone: useId(), input: useId(), ticks: useId() };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const persona = personas.find(({ id }) => id === data.get("persona"));
    if (persona === undefined) return;
    const said = String(data.get("input") ?? "").trim();
    const input = said === "" ? {} : { input: inputOf(said) };
    return send(async () => {
      const added = { cron, time_zone: timeZone, ...input };
      await save(persona, [...(persona.schedules ?? []), added]);
      onClose();
    });
  };
  return (
    <Dialog title={words.create} onClose={onClose}>
      <form className="key__form" onSubmit={(event) => void submit(event)}>
        <div className="field">
          <label htmlFor={ids.persona}>{words.persona}</label>
          <select id={ids.persona} name="persona">
            {personas.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={ids.cron}>{words.cron}</label>
          <input
            id={ids.cron}
            className="mono"
            required
            value={cron}
            spellCheck={false}
            aria-describedby={ids.ticks}
            onChange={({ target }) => setCron(target.value)}
          />
        </div>
        <div className="field">
          <label htmlFor={ids.zone}>{words.timeZone}</label>
          <input
            id={ids.zone}
            required
            value={timeZone}
            onChange={({ target }) => setTimeZone(target.value)}
          />
        </div>
        <div id={ids.ticks} aria-live="polite">
          <Ticks cron={cron} timeZone={timeZone} />
        </div>
        <div className="field">
          <label htmlFor={ids.input}>{words.input}</label>
          <textarea id={ids.input} name="input" rows={3} aria-describedby={`${ids.input}-help`} />
          <p id={`${ids.input}-help`} className="field__help">
            {words.inputHelp}
          </p>
        </div>
        {error !== null && <ErrorNote error={error} />}
        <div className="dialog__actions">
          <button type="button" className="button" onClick={onClose}>
            {text.close}
          </button>
          <button type="submit" className="button button--primary" disabled={isBusy}>
            {words.create}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** An object as it is, anything else as what a user says. */
function inputOf(said: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(said);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Then it is text.
  }
  return { role: "user", parts: [{ type: "text", text: said, visibility: "public" }] };
}
