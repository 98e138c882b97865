/** What the agent asks, as a form made from what it expects. */

import type { Task } from "bridle/client";
import { type FormEvent, useId } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { LongText } from "../../parts/LongText.tsx";
import { SchemaFields } from "../../parts/SchemaForm.tsx";
import { formFor, readForm } from "../../parts/schema-form.ts";
import { Time } from "../../parts/Time.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";

export function Question({ task }: { task: Task }) {
  const { session } = useSession();
  const { isBusy, error, send } = useRequest();
  const id = useId();
  const asked = task.waiting_for;
  if (asked === null) return null;
  const form = formFor(asked.schema);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    return send(async () => void (await bridle.tasks.answer(task.id, readForm(form, data))));
  };
  return (
    <li className="turn turn--asks">
      <p className="turn__head">
        <strong>{text.run.question}</strong>
        {asked.until !== null && (
          <span>
            {text.run.expires} <Time at={asked.until} />
          </span>
        )}
      </p>
      <div className="turn__body">
        <p id={id}>
          <LongText value={asked.description} />
        </p>
        {may(session, "messages:write") ? (
          <form onSubmit={(event) => void submit(event)} aria-labelledby={id}>
            <SchemaFields form={form} label={text.run.answer} />
            {error !== null && <ErrorNote error={error} />}
            <button type="submit" className="button button--primary" disabled={isBusy}>
              {isBusy ? text.run.sending : text.run.send}
            </button>
          </form>
        ) : (
          <p className="quiet">{text.run.mayNot("messages:write")}</p>
        )}
      </div>
    </li>
  );
}
