/** Another secret for a key. The old one works for as long as it takes to replace it. */

import { useQueryClient } from "@tanstack/react-query";
import type { ApiKey } from "bridle/client";
import { useId, useState } from "react";
import { Dialog } from "../../parts/Dialog.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { useRequest } from "../../parts/useRequest.ts";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { NewSecret } from "./NewSecret.tsx";

const hourSeconds = 60 * 60;
/** A week is the most. */
const hoursMax = 7 * 24;

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const client = useQueryClient();
  const { isBusy, error, send } = useRequest();
  const [hours, setHours] = useState("24");
  const [made, setMade] = useState<Pick<ApiKey, "key"> | null>(null);
  const id = useId();
  const rotate = async () => {
    setMade(await bridle.apiKeys.rotate(apiKey.id, { overlapSeconds: Number(hours) * hourSeconds }));
    await client.invalidateQueries({ queryKey: ["keys"] });
  };
  if (made !== null) {
    return (
      <Dialog title={text.keys.rotated} onClose={onClose}>
        <NewSecret apiKey={made} onClose={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title={text.keys.rotateTitle(apiKey.name)} onClose={onClose}>
      <p>{text.keys.rotateHelp}</p>
      <div className="field">
        <label htmlFor={id}>{text.keys.overlap}</label>
        <input
          id={id}
          type="number"
          min={0}
          max={hoursMax}
          value={hours}
          onChange={({ target }) => setHours(target.value)}
        />
      </div>
      {error !== null && <ErrorNote error={error} />}
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {text.close}
        </button>
        <button
          type="button"
          className="button button--primary"
          disabled={isBusy}
          onClick={() => void send(rotate)}
        >
          {text.keys.rotate}
        </button>
      </div>
    </Dialog>
  );
}
