/** What is about to be saved: each field as it is and as it will be. */

import { Confirm } from "../../parts/Confirm.tsx";
import { printable } from "../../parts/LongText.tsx";
import { text } from "../../text.ts";

export interface Change {
  name: string;
  was: unknown;
  is: unknown;
}

interface ReviewChangesProps {
  changes: readonly Change[];
  help: string;
  save(): Promise<void>;
  onClose(): void;
}

export function ReviewChanges({ changes, help, save, onClose }: ReviewChangesProps) {
  const words = text.operate.review;
  return (
    <Confirm
      title={words.title(changes.length)}
      help={help}
      confirm={words.save}
      act={save}
      onClose={onClose}
    >
      <ul className="changes">
        {changes.map(({ name, was, is }) => (
          <li key={name}>
            <strong>{name.replaceAll("_", " ")}</strong>
            <span className="hidden">{words.was}</span>
            <pre className="changes__was" tabIndex={0}>
              {wordsOf(was)}
            </pre>
            <span className="hidden">{words.is}</span>
            <pre className="changes__is" tabIndex={0}>
              {wordsOf(is)}
            </pre>
          </li>
        ))}
      </ul>
    </Confirm>
  );
}

function wordsOf(value: unknown): string {
  if (value === undefined || value === null) return text.operate.review.notSet;
  return printable(typeof value === "string" ? value : JSON.stringify(value, null, 2));
}
