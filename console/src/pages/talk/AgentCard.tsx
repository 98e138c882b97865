/** The card that other agents read before they talk to this one, with its signature checked in this browser. */

import { useQuery } from "@tanstack/react-query";
import { verifyAgentCard } from "bridle/verify";
import { Copy } from "../../parts/Copy.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { bridle } from "../../server/bridle.ts";
import { sessionFetch } from "../../server/session.ts";
import { text } from "../../text.ts";
import { a2aHeaders } from "./frames.ts";

const words = text.talk.card;

export default function AgentCard({ agent }: { agent: string }) {
  const path = `/a2a/agents/${encodeURIComponent(agent)}/card`;
  const { data, error } = useQuery({
    queryKey: ["card", agent],
    queryFn: async ({ signal }) => {
      const response = await sessionFetch(path, { signal, headers: a2aHeaders });
      if (!response.ok) throw new Error(words.none);
      const card: unknown = await response.json();
      return { card, signedBy: await verifyAgentCard(card, await bridle.receipts.keys({ signal })) };
    },
  });
  if (error !== null) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="quiet">{text.loading}</p>;
  const { card, signedBy } = data;
  const address = location.origin + path;
  return (
    <div className="card-of">
      <p className={`verdict verdict--${signedBy === null ? "denied" : "approved"}`} role="status">
        {signedBy === null ? words.unsigned : words.signed(signedBy)}
      </p>
      <p className="quiet">{words.help}</p>
      <p className="quiet clip">
        <code>{address}</code> <Copy value={address} />
      </p>
      <Json value={card} open={1} />
    </div>
  );
}
