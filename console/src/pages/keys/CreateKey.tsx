/** A new key, which is shown this once: the server keeps no more than its hash. */

import { useQueryClient } from "@tanstack/react-query";
import type { ApiKey } from "bridle/client";
import { type FormEvent, useId, useState } from "react";
import { Dialog } from "../../parts/Dialog.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { NewSecret } from "./NewSecret.tsx";
import { type Role, roleNames, scopesOf, wordsIn } from "./roles.ts";

const daysDefault = 30;
const dayMs = 24 * 60 * 60 * 1000;

export function CreateKey({ onClose }: { onClose(): void }) {
  const [made, setMade] = useState<ApiKey | null>(null);
  return (
    <Dialog title={made === null ? text.keys.create : text.keys.created} onClose={onClose}>
      {made === null ? (
        <Fields onMade={setMade} onClose={onClose} />
      ) : (
        <NewSecret apiKey={made} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Fields({ onMade, onClose }: { onMade(key: ApiKey): void; onClose(): void }) {
  const client = useQueryClient();
  const [role, setRole] = useState<Role>("watch");
  const { isBusy, error, send } = useRequest();
  const ids = { name: useId(), actor: useId(), role: useId(), given: useId(), days: useId() };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const word = (name: string) => String(data.get(name) ?? "").trim();
    return send(async () => {
      const key = await bridle.apiKeys.create({
        name: word("name"),
        actor: word("actor"),
        scopes: scopesOf(role, word("given")),
        expires_at: new Date(Date.now() + Number(word("days")) * dayMs).toISOString(),
        ...boundsIn(word),
      });
      onMade(key);
      await client.invalidateQueries({ queryKey: ["keys"] });
    });
  };
  const needsMore = role === "sign" || role === "custom";
  return (
    <form className="key__form" onSubmit={(event) => void submit(event)}>
      <div className="field">
        <label htmlFor={ids.name}>{text.keys.name}</label>
        <input id={ids.name} name="name" required maxLength={200} autoComplete="off" />
      </div>
      <div className="field">
        <label htmlFor={ids.actor}>{text.keys.actorLabel}</label>
        <input id={ids.actor} name="actor" required maxLength={200} autoComplete="off" />
      </div>
      <div className="field">
        <label htmlFor={ids.role}>{text.keys.role}</label>
        <select
          id={ids.role}
          value={role}
          onChange={({ target }) => setRole(roleNames.find((one) => one === target.value) ?? "watch")}
        >
          {roleNames.map((one) => (
            <option key={one} value={one}>
              {text.keys.roles[one]}
            </option>
          ))}
        </select>
      </div>
      {needsMore && (
        <div className="field">
          <label htmlFor={ids.given}>{role === "sign" ? text.keys.approverId : text.keys.scopes}</label>
          <input
            id={ids.given}
            name="given"
            required
            className="mono"
            autoComplete="off"
            spellCheck={false}
          />
        </div>
      )}
      <div className="field">
        <label htmlFor={ids.days}>{text.keys.days}</label>
        <input
          id={ids.days}
          name="days"
          type="number"
          min={1}
          max={3650}
          defaultValue={daysDefault}
          required
        />
      </div>
      <Bounds />
      {error !== null && <ErrorNote error={error} />}
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {text.close}
        </button>
        <button type="submit" className="button button--primary" disabled={isBusy}>
          {text.keys.createConfirm}
        </button>
      </div>
    </form>
  );
}

const bounds = ["workspace_ids", "agent_names", "persona_ids", "allowed_cidrs"] as const;

/** What the key is bound to; nothing for what was left empty. */
function boundsIn(word: (name: string) => string): Partial<Record<(typeof bounds)[number], string[]>> {
  return Object.fromEntries(
    bounds.flatMap((name) => {
      const given = wordsIn(word(name));
      return given.length === 0 ? [] : [[name, given] as const];
    }),
  );
}

function Bounds() {
  const id = useId();
  return (
    <details>
      <summary>{text.keys.bounds}</summary>
      <div className="key__form">
        <p className="field__help">{text.keys.boundsHelp}</p>
        {bounds.map((name) => (
          <div className="field" key={name}>
            <label htmlFor={`${id}-${name}`}>{text.keys.boundNames[name]}</label>
            <input id={`${id}-${name}`} name={name} className="mono" autoComplete="off" spellCheck={false} />
          </div>
        ))}
      </div>
    </details>
  );
}
