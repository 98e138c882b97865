/** One persona as a form. Nothing is saved before the changes were shown. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Persona } from "bridle/client";
import { type FormEvent, useState } from "react";
import { Confirm } from "../../parts/Confirm.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { Json } from "../../parts/Json.tsx";
import { printable } from "../../parts/LongText.tsx";
import { SchemaFields } from "../../parts/SchemaForm.tsx";
import { changedFields, type Field, filledIn, formFor, readForm } from "../../parts/schema-form.ts";
import { Time } from "../../parts/Time.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { isRecord } from "../run/words.ts";
import { OperateFrame } from "./OperateFrame.tsx";
import { type Change, ReviewChanges } from "./ReviewChanges.tsx";
import { picked, useRequestSchema } from "./schemas.ts";

const route = getRouteApi("/inside/operate/personas/$personaId");
const words = text.operate.personas;

/** Schedules have a page of their own, and the server counts versions. */
const editable = [
  ...["name", "description", "disabled", "autonomy_tier", "approval_policy", "receipt_policy"],
  ...["tools", "capabilities", "handoffs", "lists", "model_policy", "quota_id", "owner"],
  ...["entry_workflow", "triggers", "context_packs", "evals", "rollout_policy", "metadata"],
];

export function PersonaPage() {
  const { personaId } = route.useParams();
  const { session } = useSession();
  const { data: persona, error } = useQuery({
    queryKey: ["persona", personaId],
    queryFn: ({ signal }) => bridle.personas.get(personaId, { signal }),
    refetchOnWindowFocus: false,
  });
  useTitle(persona?.name ?? text.operate.parts.personas);
  const mayChange = may(session, "personas:write");
  return (
    <OperateFrame>
      <Link to="/operate/$part" params={{ part: "personas" }} search={{}} className="back">
        <Icon name="back" />
        {words.back}
      </Link>
      {error !== null && <ErrorNote error={error} />}
      {persona !== undefined && (
        <>
          <h1>
            <bdi>{printable(persona.name)}</bdi>
          </h1>
          <p className="quiet">
            <code>{persona.id}</code> · {words.version} {printable(persona.version)}
          </p>
          <Pending persona={persona} mayChange={mayChange} />
          {mayChange ? (
            <Editor key={persona.version} persona={persona} />
          ) : (
            <Json value={Object.fromEntries(editable.map((name) => [name, valueIn(persona, name)]))} />
          )}
        </>
      )}
    </OperateFrame>
  );
}

function valueIn(persona: Persona, name: string): unknown {
  return new Map<string, unknown>(Object.entries(persona)).get(name);
}

/** A list that is not there allows everything, an empty one nothing: a field cannot tell them apart, so words do. */
const permissions: ReadonlySet<string> = new Set([
  ...["tools", "capabilities", "handoffs"],
  "model_policy/allowed_models",
]);

function Editor({ persona }: { persona: Persona }) {
  const schema = useRequestSchema("UpdatePersonaRequest");
  const client = useQueryClient();
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  if (schema === null) return <p className="quiet">{text.loading}</p>;
  const form = formFor(picked(schema, editable));
  const before = Object.fromEntries(editable.map((name) => [name, valueIn(persona, name)]));
  const review = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setProblem(null);
    try {
      const after = readForm(form, new FormData(event.currentTarget));
      setChanges(changedFields(form, before, isRecord(after) ? after : {}));
    } catch (error) {
      setProblem(error);
    }
  };
  const save = async () => {
    await bridle.personas.update(
      persona.id,
      Object.fromEntries((changes ?? []).map(({ name, is }) => [name, is])),
    );
    await client.invalidateQueries({ queryKey: ["persona", persona.id] });
    await client.invalidateQueries({ queryKey: ["personas"] });
  };
  return (
    <form className="sheet" onSubmit={review}>
      <SchemaFields form={form} label="" values={before} helpFor={(field) => helpFor(field, before)} />
      {problem !== null && <ErrorNote error={problem} />}
      {changes?.length === 0 && <p className="note">{text.operate.review.nothing}</p>}
      <div className="sheet__actions">
        <button type="submit" className="button button--primary">
          {text.operate.review.open}
        </button>
      </div>
      {changes !== null && changes.length > 0 && (
        <ReviewChanges changes={changes} help={words.saveHelp} save={save} onClose={() => setChanges(null)} />
      )}
    </form>
  );
}

function helpFor(field: Field, before: unknown): string | null {
  const path = field.path.join("/");
  const help: Readonly<Record<string, string>> = words.help;
  if (!permissions.has(path)) return help[path] ?? (field.type === "lines" ? words.oneEach : null);
  if (filledIn(field, before) !== "") return words.oneEach;
  let value: unknown = before;
  for (const name of field.path) value = isRecord(value) ? value[name] : undefined;
  return value === undefined ? words.allowsAll : words.allowsNothing;
}

function Pending({ persona, mayChange }: { persona: Persona; mayChange: boolean }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const { pending_change: pending } = persona;
  if (pending === undefined) return null;
  const withdraw = async () => {
    await bridle.personas.withdraw(persona.id);
    await client.invalidateQueries({ queryKey: ["persona", persona.id] });
  };
  return (
    <section className="note" aria-label={words.pending}>
      <h2>{words.pendingTitle}</h2>
      <p className="quiet">
        {words.requestedBy(pending.requested_by)} <Time at={pending.requested_at} />, {words.expires}{" "}
        <Time at={pending.expires_at} />
      </p>
      <Json value={pending.changes} open={3} />
      {mayChange && (
        <button type="button" className="button" onClick={() => setAsking(true)}>
          {words.withdraw}
        </button>
      )}
      {isAsking && (
        <Confirm
          title={words.withdrawTitle}
          help={words.withdrawHelp}
          confirm={words.withdraw}
          act={withdraw}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}
