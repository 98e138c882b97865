/** The run's receipt, and its verification in this browser. */

import { useQuery } from "@tanstack/react-query";
import type { Task } from "bridle/client";
import { Checks } from "../../parts/Checks.tsx";
import { Copy } from "../../parts/Copy.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";

export default function Receipt({ task: { receipt_id: id } }: { task: Task }) {
  const { data, error } = useQuery({
    queryKey: ["receipt", id],
    enabled: id !== null,
    queryFn: async ({ signal }) => {
      const receipt = await bridle.receipts.get(id ?? "", { signal });
      return { receipt, verification: await bridle.receipts.verify(receipt, { signal }) };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (id === null) {
    return (
      <Empty title={text.run.noReceipt}>
        <p>{text.run.noReceiptHelp}</p>
      </Empty>
    );
  }
  if (error !== null) return <ErrorNote error={error} />;
  if (data === undefined) return <p className="quiet">{text.loading}</p>;
  const { receipt, verification } = data;
  return (
    <div className="receipt">
      <p className={`verdict verdict--${verification.valid ? "approved" : "denied"}`}>
        {verification.valid ? text.run.verified : text.run.invalid}
        {verification.reason !== null && `: ${verification.reason}`}
      </p>
      <p className="quiet">{text.run.verifyHelp}</p>
      <h3>{text.run.checks}</h3>
      <Checks checks={verification.checks} />
      <h3>
        {text.run.json} <Copy value={JSON.stringify(receipt, null, 2)} />
      </h3>
      <Json value={receipt} open={2} />
    </div>
  );
}
