import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useId } from "react";
import { statuses } from "../../parts/Status.tsx";
import { text } from "../../text.ts";
import { useAgents } from "../talk/useAgents.ts";
import { isFiltered, type RunFilters, readRunFilters, timeRanges } from "./filters.ts";

export function Filters({ filters, onChange }: { filters: RunFilters; onChange(filters: RunFilters): void }) {
  const agents = useAgents();
  const names = agents.data?.items.map(({ name }) => name) ?? [];
  const set = (change: Record<string, string>) => onChange(readRunFilters({ ...filters, ...change }));
  return (
    <search className="filters" aria-label={text.runs.filters}>
      <Choice
        label={text.runs.status}
        any={text.runs.anyStatus}
        value={filters.status}
        choices={statuses.map((status) => [status, text.status[status]])}
        onChange={(status) => set({ status })}
      />
      <Choice
        label={text.runs.agent}
        any={text.runs.anyAgent}
        value={filters.agent}
        choices={[...new Set([...names, ...(filters.agent === undefined ? [] : [filters.agent])])].map(
          (name) => [name, name],
        )}
        onChange={(agent) => set({ agent })}
      />
      <Choice
        label={text.runs.time}
        any={text.runs.anyTime}
        value={filters.since}
        choices={timeRanges.map((range) => [range, text.runs.times[range]])}
        onChange={(since) => set({ since })}
      />
      <Word
        key={filters.session ?? ""}
        label={text.runs.session}
        hint={text.runs.sessionHint}
        value={filters.session ?? ""}
        onEnter={(session) => set({ session })}
      />
      <OpenRun />
      {isFiltered(filters) && (
        <button type="button" className="button button--quiet" onClick={() => onChange({})}>
          {text.runs.clear}
        </button>
      )}
    </search>
  );
}

interface ChoiceProps {
  label: string;
  any: string;
  value: string | undefined;
  choices: readonly (readonly [value: string, label: string])[];
  onChange(value: string): void;
}

function Choice({ label, any, value = "", choices, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{any}</option>
        {choices.map(([choice, name]) => (
          <option key={choice} value={choice}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

function OpenRun() {
  const navigate = useNavigate();
  const open = (id: string) => {
    if (id !== "") void navigate({ to: "/runs/$taskId", params: { taskId: id }, search: {} });
  };
  return <Word label={text.runs.goTo} hint={text.runs.goToHint} value="" onEnter={open} />;
}

/** Taken when Enter is pressed, so that half an id is not looked for. */
function Word({
  label,
  hint,
  value,
  onEnter,
}: {
  label: string;
  hint: string;
  value: string;
  onEnter(value: string): void;
}) {
  const id = useId();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const word = new FormData(event.currentTarget).get("word");
    onEnter(typeof word === "string" ? word.trim() : "");
  };
  return (
    <form className="field" onSubmit={submit}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name="word"
        className="mono"
        placeholder={hint}
        defaultValue={value}
        spellCheck={false}
        autoComplete="off"
      />
    </form>
  );
}
