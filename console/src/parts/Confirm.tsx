/** Asks before something is done. It closes when that succeeded, and shows the error otherwise. */

import type { ReactNode } from "react";
import { text } from "../text.ts";
import { Dialog } from "./Dialog.tsx";
import { ErrorNote } from "./ErrorNote.tsx";
import { useRequest } from "./useRequest.ts";

interface ConfirmProps {
  title: string;
  help: string;
  confirm: string;
  isDangerous?: boolean;
  act(): Promise<void>;
  onClose(): void;
  children?: ReactNode;
}

export function Confirm({ title, help, confirm, isDangerous = false, act, onClose, children }: ConfirmProps) {
  const { isBusy, error, send } = useRequest();
  const run = async () => {
    await act();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{help}</p>
      {children}
      {error !== null && <ErrorNote error={error} />}
      <div className="dialog__actions">
        <button type="button" className="button" onClick={onClose}>
          {text.close}
        </button>
        <button
          type="button"
          className={isDangerous ? "button button--danger" : "button button--primary"}
          disabled={isBusy}
          onClick={() => void send(run)}
        >
          {confirm}
        </button>
      </div>
    </Dialog>
  );
}
