/** Vaults and the names in them. No call reads a value back, so neither does this page. */

import { useQuery } from "@tanstack/react-query";
import type { Vault } from "bridle/client";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";

const words = text.operate.vaults;
const vaultsMax = 200;

export default function Vaults() {
  const { data, error, refetch } = useQuery({
    queryKey: ["vaults"],
    queryFn: ({ signal }) => bridle.vaults.list({ limit: vaultsMax, signal }),
  });
  return (
    <>
      <h1>{text.operate.parts.vaults}</h1>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      <ul className="cards">
        {data?.items.map((vault) => (
          <Item key={vault.id} vault={vault} />
        ))}
      </ul>
    </>
  );
}

function Item({ vault: { id, workspace_id, capabilities, data_key_version } }: { vault: Vault }) {
  const { data, error } = useQuery({
    queryKey: ["secrets", id],
    queryFn: ({ signal }) => bridle.vaults.secrets(id, { signal }),
  });
  return (
    <li className="card">
      <div className="card__head">
        <code className="card__title">{id}</code>
        <span className="quiet">{workspace_id ?? words.wholeTenant}</span>
      </div>
      {error !== null && <ErrorNote error={error} />}
      {data?.length === 0 && <p className="quiet">{words.empty}</p>}
      <ul className="rows" aria-label={words.secrets}>
        {data?.map(({ name, version, updated_at }) => (
          <li key={name} className="row">
            <code>{printable(name)}</code>
            <span className="quiet">
              {words.version} {version}
            </span>
            <Time at={updated_at} />
          </li>
        ))}
      </ul>
      <p className="quiet">
        {capabilities.join(", ")} · {words.dataKey} {data_key_version}
      </p>
    </li>
  );
}
