/** A text of any length: what is too long to read at once is shown when somebody asks for it. */

import { useState } from "react";
import { text as words } from "../text.ts";

const charsMax = 4000;
/** A browser lays out no more than this at once without becoming slow. */
const charsShownMax = 200_000;

export function LongText({ value, className = "" }: { value: string; className?: string }) {
  const [isOpen, setOpen] = useState(false);
  const isLong = value.length > charsMax;
  const shown = isLong ? value.slice(0, isOpen ? charsShownMax : charsMax) : value;
  return (
    <>
      <bdi className={`long ${className}`}>{printable(shown)}</bdi>
      {isLong && (
        <button type="button" className="button button--quiet" onClick={() => setOpen(!isOpen)}>
          {isOpen
            ? words.run.truncated
            : words.run.longText(Math.min(value.length, charsShownMax).toLocaleString("en"))}
        </button>
      )}
    </>
  );
}

/** Characters that a terminal would obey, or that turn the direction of text around, are shown as what they are. */
export function printable(value: string): string {
  return value
    .replaceAll("\r\n", "\n")
    .replace(/[^\P{Cc}\t\n]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) => {
      const code = character.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : `\\u${code.toString(16).padStart(4, "0")}`;
    });
}
