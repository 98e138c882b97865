/** What is given to an agent: text, or the fields that its input has. */

import type { Agent } from "bridle/client";
import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { SchemaFields } from "../../parts/SchemaForm.tsx";
import { formFor, readForm } from "../../parts/schema-form.ts";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { isRecord } from "../run/words.ts";

interface ComposerProps {
  agents: readonly Agent[];
  agent: Agent;
  onAgent(name: string): void;
  /** A new session unless there is one. */
  sessionId?: string;
  onSubmitted(sessionId: string): void;
}

export function Composer({ agents, agent, onAgent, sessionId, onSubmitted }: ComposerProps) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  /** A new form each time: what was sent is no longer in it. */
  const [round, setRound] = useState(0);
  const id = useId();
  const form = agent.input_schema === null ? null : formFor(agent.input_schema);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      const said = form === null ? String(data.get("message") ?? "") : readForm(form, data);
      const task = await bridle.tasks.submit({
        input: typeof said === "string" || isRecord(said) ? said : { value: said },
        ...(agent.persona_id === null ? { agent: agent.name } : { personaId: agent.persona_id }),
        ...(sessionId === undefined ? {} : { sessionId }),
      });
      setRound(round + 1);
      onSubmitted(task.session_id);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return (
    <form key={round} className="composer" onSubmit={(event) => void submit(event)}>
      <div className="field">
        <label htmlFor={id}>{text.talk.agent}</label>
        <select id={id} value={agent.name} onChange={({ target }) => onAgent(target.value)}>
          {agents.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      {form === null ? <Message /> : <SchemaFields form={form} label={text.talk.message} />}
      {error !== null && <ErrorNote error={error} />}
      <button type="submit" className="button button--primary" disabled={isBusy}>
        {isBusy ? text.run.sending : text.talk.send}
      </button>
    </form>
  );
}

function Message() {
  const [id, helpId] = [useId(), useId()];
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    // Enter also ends what an input method composes.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    event.currentTarget.form?.requestSubmit();
  };
  return (
    <div className="field">
      <label htmlFor={id}>{text.talk.message}</label>
      <textarea id={id} name="message" rows={3} required onKeyDown={onKeyDown} aria-describedby={helpId} />
      <p id={helpId} className="field__help">
        {text.talk.messageHint}
      </p>
    </div>
  );
}
