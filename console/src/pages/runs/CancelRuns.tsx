import { useState } from "react";
import { Dialog } from "../../parts/Dialog.tsx";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";

interface Progress {
  done: number;
  failures: { id: string; message: string }[];
}

export function CancelRuns({ ids, onClose }: { ids: readonly string[]; onClose(): void }) {
  // Those that were chosen when it was asked: the list goes on changing meanwhile.
  const [all] = useState(ids);
  const [progress, setProgress] = useState<Progress | null>(null);
  const cancel = async () => {
    const failures: Progress["failures"] = [];
    for (const [n, id] of all.entries()) {
      setProgress({ done: n, failures });
      await bridle.tasks.cancel(id).catch((error: unknown) => {
        failures.push({ id, message: error instanceof Error ? error.message : String(error) });
      });
    }
    if (failures.length === 0) onClose();
    else setProgress({ done: all.length, failures });
  };
  const isDone = progress?.done === all.length;
  return (
    <Dialog title={text.runs.cancelTitle(all.length)} onClose={onClose}>
      <p>{text.runs.cancelHelp}</p>
      <div role="status">{progress !== null && <p>{text.runs.canceling(progress.done, all.length)}</p>}</div>
      {isDone && (
        <div className="note note--error">
          <p>{text.runs.someFailed(progress.failures.length)}</p>
          <ul>
            {progress.failures.map(({ id, message }) => (
              <li key={id}>{message}</li>
            ))}
          </ul>
        </div>
      )}
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {isDone ? text.close : text.runs.keep}
        </button>
        {!isDone && (
          <button
            type="button"
            className="button button--danger"
            disabled={progress !== null}
            onClick={() => void cancel()}
          >
            {text.runs.cancelConfirm(all.length)}
          </button>
        )}
      </div>
    </Dialog>
  );
}
