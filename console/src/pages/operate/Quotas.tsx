/** Limits, with what is used of them. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Quota } from "bridle/client";
import { type FormEvent, useState } from "react";
import { Confirm } from "../../parts/Confirm.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { SchemaFields } from "../../parts/SchemaForm.tsx";
import { changedFields, formFor, readForm } from "../../parts/schema-form.ts";
import { Time } from "../../parts/Time.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { isRecord } from "../run/words.ts";
import { picked, useRequestSchema } from "./schemas.ts";

const words = text.operate.quotas;
const quotasMax = 200;
/** Usage changes with every step. */
const lookMs = 10_000;

export default function Quotas() {
  const { session } = useSession();
  const mayChange = may(session, "quotas:write");
  const [edited, setEdited] = useState<Quota | "new" | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["quotas"],
    queryFn: ({ signal }) => bridle.quotas.list({ limit: quotasMax, signal }),
    refetchInterval: lookMs,
  });
  return (
    <>
      <div className="page__head">
        <h1>{text.operate.parts.quotas}</h1>
        {mayChange && (
          <button type="button" className="button button--primary" onClick={() => setEdited("new")}>
            {words.create}
          </button>
        )}
      </div>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      <ul className="cards">
        {data?.items.map((quota) => (
          <Item key={quota.id} quota={quota} onEdit={mayChange ? () => setEdited(quota) : null} />
        ))}
      </ul>
      {edited !== null && (
        <EditQuota quota={edited === "new" ? null : edited} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

function Item({ quota, onEdit }: { quota: Quota; onEdit: (() => void) | null }) {
  const client = useQueryClient();
  const [isDeleting, setDeleting] = useState(false);
  const { id, scope, limits, usage, reset_at, reset_window, hard_limit, exhaustion_reason } = quota;
  const remove = async () => {
    await bridle.quotas.delete(id);
    await client.invalidateQueries({ queryKey: ["quotas"] });
  };
  return (
    <li className="card">
      <div className="card__head">
        <strong className="card__title">{words.scopes[scope]}</strong>
        {!hard_limit && <span className="tag">{words.watched}</span>}
        {exhaustion_reason !== null && <span className="tag tag--bad">{words.exhausted}</span>}
        {onEdit !== null && (
          <span className="card__actions">
            <button type="button" className="button" aria-label={`${words.edit} ${id}`} onClick={onEdit}>
              {words.edit}
            </button>
            <button
              type="button"
              className="button button--danger"
              aria-label={`${words.delete} ${id}`}
              onClick={() => setDeleting(true)}
            >
              {words.delete}
            </button>
          </span>
        )}
      </div>
      <ul className="meters">
        {Object.entries(limits).map(([name, most]) => (
          <Meter key={name} name={name} used={usage[name] ?? 0} most={most} />
        ))}
      </ul>
      {exhaustion_reason !== null && <p>{exhaustion_reason}</p>}
      <p className="quiet">
        <code>{id}</code>
        {reset_window !== null && ` · ${words.resets(reset_window)}`}
        {reset_at !== null && (
          <>
            {", "}
            {words.next} <Time at={reset_at} />
          </>
        )}
      </p>
      {isDeleting && (
        <Confirm
          title={words.deleteTitle}
          help={words.deleteHelp}
          confirm={words.delete}
          isDangerous
          act={remove}
          onClose={() => setDeleting(false)}
        />
      )}
    </li>
  );
}

function Meter({ name, used, most }: { name: string; used: number; most: number }) {
  const share = most === 0 ? 1 : Math.min(1, used / most);
  const look = share >= 1 ? "full" : share >= 0.8 ? "high" : "low";
  const label = name.replaceAll("_", " ");
  return (
    <li className="meter">
      <span>{label}</span>
      <span className="meter__track" aria-hidden="true">
        <span className={`meter__bar meter__bar--${look}`} style={{ width: `${share * 100}%` }} />
      </span>
      <span className="meter__value">{words.used(used, most)}</span>
    </li>
  );
}

const fields = ["scope", "limits", "hard_limit", "on_exhaustion", "reset_window"];

function EditQuota({ quota, onClose }: { quota: Quota | null; onClose(): void }) {
  const schema = useRequestSchema(quota === null ? "CreateQuotaRequest" : "UpdateQuotaRequest");
  const client = useQueryClient();
  const { isBusy, error, send } = useRequest();
  const form = schema === null ? null : formFor(picked(schema, fields));
  const before = Object.fromEntries(
    fields.map((name) => [
      name,
      new Map<string, unknown>(Object.entries(quota ?? { hard_limit: true })).get(name),
    ]),
  );
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (form === null) return;
    const data = new FormData(event.currentTarget);
    return send(async () => {
      const after = readForm(form, data);
      const given = isRecord(after) ? after : {};
      const { scope, limits, ...rest } = given;
      const amounts = isRecord(limits) ? (limits as Record<string, number>) : {};
      if (quota === null) {
        await bridle.quotas.create({ scope: scope as Quota["scope"], limits: amounts, ...rest });
      } else {
        const changes = changedFields(form, before, given).map(({ name, is }) => [name, is]);
        await bridle.quotas.update(quota.id, Object.fromEntries(changes));
      }
      await client.invalidateQueries({ queryKey: ["quotas"] });
      onClose();
    });
  };
  return (
    <Dialog title={quota === null ? words.create : words.editTitle} onClose={onClose}>
      {form === null ? (
        <p className="quiet">{text.loading}</p>
      ) : (
        <form className="key__form" onSubmit={(event) => void submit(event)}>
          <SchemaFields form={form} label="" values={before} />
          {error !== null && <ErrorNote error={error} />}
          <div className="dialog__actions">
            <button type="button" className="button" onClick={onClose}>
              {text.close}
            </button>
            <button type="submit" className="button button--primary" disabled={isBusy}>
              {text.operate.review.save}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
