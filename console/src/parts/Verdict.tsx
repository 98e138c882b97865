/** Approve or deny, with a reason. It stays busy after a decision was taken, until its parent removes it. */

import { useState } from "react";
import { text } from "../text.ts";
import { ErrorNote } from "./ErrorNote.tsx";
import { ReasonField, reasonIn } from "./ReasonField.tsx";
import { useRequest } from "./useRequest.ts";

interface VerdictProps {
  approve: string;
  deny: string;
  reasonCharsMax?: number;
  reasonHelp?: string;
  decide(isApproved: boolean, reason: { reason?: string }): Promise<void>;
}

export function Verdict({ approve, deny, reasonCharsMax, reasonHelp, decide }: VerdictProps) {
  const { isBusy, error, send } = useRequest();
  const [reason, setReason] = useState("");
  const run = (isApproved: boolean) => send(() => decide(isApproved, reasonIn(reason)));
  const limits = {
    ...(reasonCharsMax === undefined ? {} : { charsMax: reasonCharsMax }),
    ...(reasonHelp === undefined ? {} : { help: reasonHelp }),
  };
  return (
    <div className="answer">
      {error !== null && <ErrorNote error={error} />}
      <ReasonField label={text.run.denyReason} value={reason} onChange={setReason} {...limits} />
      <div className="answer__buttons">
        <button
          type="button"
          className="button button--primary"
          data-approve=""
          disabled={isBusy}
          onClick={() => void run(true)}
        >
          {approve}
        </button>
        <button
          type="button"
          className="button button--danger"
          data-deny=""
          disabled={isBusy}
          onClick={() => void run(false)}
        >
          {deny}
        </button>
      </div>
    </div>
  );
}
