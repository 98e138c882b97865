/** One step of the source: what it gave, and an editor for what it gives instead. */

import { useId } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { printable } from "../../parts/LongText.tsx";
import { text } from "../../text.ts";
import { type EditableStep, problemIn } from "./changes.ts";

const previewCharsMax = 160;
const rowsMax = 16;

interface StepEditorProps {
  step: EditableStep;
  /** Null while the recorded value counts. */
  typed: string | null;
  /** What the server said of the value. */
  error: unknown;
  onChange(typed: string | null): void;
}

export function StepEditor({ step, typed, error, onChange }: StepEditorProps) {
  const { key, recorded, isHidden } = step;
  const shown = recorded?.replaceAll(/\s+/g, " ").slice(0, previewCharsMax);
  return (
    <li className={typed === null ? "replay__step" : "replay__step replay__step--changed"}>
      <div className="replay__step-head">
        <code className="replay__key">{printable(key)}</code>
        {typed === null ? (
          <>
            <span className="replay__recorded">
              <bdi>
                {shown === undefined ? (isHidden ? text.replay.hidden : text.replay.none) : printable(shown)}
              </bdi>
            </span>
            <button
              type="button"
              className="button"
              aria-label={text.replay.changeOf(key)}
              onClick={() => onChange(recorded ?? "")}
            >
              {text.replay.change}
            </button>
          </>
        ) : (
          <>
            <span className="replay__recorded">{text.replay.changed}</span>
            <button
              type="button"
              className="button"
              aria-label={text.replay.undoOf(key)}
              onClick={() => onChange(null)}
            >
              {text.replay.undo}
            </button>
          </>
        )}
      </div>
      {typed !== null && <Value step={step} typed={typed} error={error} onChange={onChange} />}
    </li>
  );
}

function Value({ step, typed, error, onChange }: StepEditorProps & { typed: string }) {
  const [id, helpId] = [useId(), useId()];
  const problem = problemIn(step, typed);
  return (
    <div className="field">
      <label htmlFor={id}>{text.replay.value(step.key)}</label>
      <textarea
        id={id}
        // biome-ignore lint/a11y/noAutofocus: somebody asked for this editor with the button before it
        autoFocus
        className="mono"
        rows={Math.min(rowsMax, typed.split("\n").length + 1)}
        spellCheck={false}
        value={typed}
        aria-invalid={problem !== null}
        aria-describedby={helpId}
        onChange={({ target }) => onChange(target.value)}
      />
      <p
        id={helpId}
        className={problem === null ? "field__help" : "field__help field__help--wrong"}
        aria-live="polite"
      >
        {problem}
      </p>
      {error !== null && <ErrorNote error={error} />}
    </div>
  );
}
