/** API keys: who may do what, until when, and the end of it. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiKey } from "bridle/client";
import { useState } from "react";
import { Confirm } from "../../parts/Confirm.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/keys.css";
import { text } from "../../text.ts";
import { CreateKey } from "./CreateKey.tsx";
import { RotateKey } from "./RotateKey.tsx";

/** More are listed by `bridle key list`. */
const keysMax = 200;

export function Keys() {
  useTitle(text.keys.title);
  const { session } = useSession();
  const [isCreating, setCreating] = useState(false);
  const mayChange = may(session, "api_keys:write");
  const { data, error, refetch } = useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => bridle.apiKeys.list({ limit: keysMax, signal }),
  });
  const keys = data?.items ?? [];
  return (
    <main className="page">
      <div className="page__head">
        <h1>{text.keys.title}</h1>
        {mayChange && (
          <button type="button" className="button button--primary" onClick={() => setCreating(true)}>
            {text.keys.create}
          </button>
        )}
      </div>
      <p className="quiet">{text.keys.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined && keys.length === 0 && (
        <Empty title={text.keys.none}>
          <p>{text.keys.noneHelp}</p>
        </Empty>
      )}
      <ul className="keys">
        {keys.map((key) => (
          <KeyItem key={key.id} apiKey={key} mayChange={mayChange} />
        ))}
      </ul>
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
    </main>
  );
}

function KeyItem({ apiKey, mayChange }: { apiKey: ApiKey; mayChange: boolean }) {
  const [isRevoking, setRevoking] = useState(false);
  const [isRotating, setRotating] = useState(false);
  const { id, name, actor, scopes, last_used_at, expires_at, revoked_at } = apiKey;
  const isOver = revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
  const bounds = [apiKey.workspace_ids, apiKey.agent_names, apiKey.persona_ids, apiKey.allowed_cidrs].flatMap(
    (ids) => ids ?? [],
  );
  return (
    <li className={isOver ? "key key--over" : "key"}>
      <div className="key__head">
        <strong>
          <bdi>{printable(name)}</bdi>
        </strong>
        <span className="quiet">
          {text.keys.actor} <bdi>{printable(actor)}</bdi>
        </span>
        {mayChange && !isOver && (
          <span className="key__actions">
            <button
              type="button"
              className="button"
              aria-label={`${text.keys.rotate} ${name}`}
              onClick={() => setRotating(true)}
            >
              {text.keys.rotate}
            </button>
            <button
              type="button"
              className="button button--danger"
              aria-label={`${text.keys.revoke} ${name}`}
              onClick={() => setRevoking(true)}
            >
              {text.keys.revoke}
            </button>
          </span>
        )}
      </div>
      <ul className="scopes" aria-label={text.account.rights}>
        {scopes.map((scope) => (
          <li key={scope}>
            <code>{scope}</code>
          </li>
        ))}
      </ul>
      {bounds.length > 0 && (
        <p className="quiet">
          {text.account.boundTo} <code>{bounds.join(", ")}</code>
        </p>
      )}
      <p className="quiet key__times">
        <span>
          {text.keys.lastUsed} {last_used_at === undefined ? text.keys.never : <Time at={last_used_at} />}
        </span>
        <span>
          {revoked_at !== null ? (
            <>
              {text.keys.revoked} <Time at={revoked_at} />
            </>
          ) : (
            <>
              {text.keys.expires} {expires_at === null ? text.keys.never : <Time at={expires_at} />}
            </>
          )}
        </span>
        <code>{id}</code>
      </p>
      {isRotating && <RotateKey apiKey={apiKey} onClose={() => setRotating(false)} />}
      {isRevoking && <Revoke apiKey={apiKey} onClose={() => setRevoking(false)} />}
    </li>
  );
}

function Revoke({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const client = useQueryClient();
  const revoke = async () => {
    await bridle.apiKeys.revoke(apiKey.id);
    await client.invalidateQueries({ queryKey: ["keys"] });
  };
  return (
    <Confirm
      title={text.keys.revokeTitle(apiKey.name)}
      help={text.keys.revokeHelp}
      confirm={text.keys.revokeConfirm}
      isDangerous
      act={revoke}
      onClose={onClose}
    />
  );
}
