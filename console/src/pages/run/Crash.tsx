/** Kills the server while somebody watches, and shows that nothing of the run is lost. Offered by `bridle dev` on its own machine only. */

import { useState } from "react";
import { Dialog } from "../../parts/Dialog.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { duration } from "../../parts/Time.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { crashServer } from "../../server/session.ts";
import { text } from "../../text.ts";

const lookMs = 150;
const patienceMs = 60_000;

export function Crash({ onClose }: { onClose(): void }) {
  const { isBusy, error, send } = useRequest();
  const [said, setSaid] = useState<string | null>(null);
  const crash = async () => {
    await crashServer();
    const from = performance.now();
    setSaid(text.run.crashDown);
    await untilBack(from + patienceMs);
    setSaid(text.run.crashBack(duration(performance.now() - from)));
  };
  return (
    <Dialog title={text.run.crashTitle} onClose={onClose}>
      <p>{text.run.crashHelp}</p>
      <p role="status">{said}</p>
      {error !== null && <ErrorNote error={error} />}
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {text.close}
        </button>
        <button
          type="button"
          className="button button--danger"
          disabled={isBusy}
          onClick={() => void send(crash)}
        >
          {text.run.crashConfirm}
        </button>
      </div>
    </Dialog>
  );
}

/** Gone first, and then there: right after the answer the old process may still answer. */
async function untilBack(until: number): Promise<void> {
  let wasGone = false;
  while (performance.now() < until) {
    const isThere = await fetch("/ready").then(
      ({ ok }) => ok,
      () => false,
    );
    wasGone ||= !isThere;
    if (isThere && wasGone) return;
    await new Promise((done) => setTimeout(done, wasGone ? lookMs : 10));
  }
  throw new Error(text.connection.offline(new Date().toLocaleTimeString("en")));
}
