/** JSON as a tree that can be opened. What is closed is not in the document. */

import { useState } from "react";
import { text as words } from "../text.ts";
import { LongText, printable } from "./LongText.tsx";
import { isRedacted } from "./redacted.ts";

/** Of one list or object; more are shown on request. */
const membersShown = 100;

export function Json({ value, open = 2 }: { value: unknown; open?: number }) {
  return (
    <div className="json">
      <Value value={value} open={open} />
    </div>
  );
}

function Value({ value, open }: { value: unknown; open: number }) {
  if (value === undefined) return <span className="json__null">{words.none}</span>;
  if (typeof value === "string") {
    return (
      <span className="json__string">
        <LongText value={value} />
      </span>
    );
  }
  if (typeof value !== "object" || value === null) {
    return <span className={value === null ? "json__null" : "json__plain"}>{String(value)}</span>;
  }
  if (isRedacted(value)) return <span className="json__null">{words.run.redacted}</span>;
  return <Members value={value} open={open} />;
}

function Members({ value, open }: { value: object; open: number }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(membersShown);
  const isList = Array.isArray(value);
  const members = Object.entries(value);
  const [begin, end] = isList ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return <span className="json__plain">{begin + end}</span>;
  return (
    <>
      <button type="button" className="json__toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {begin}
        {!isOpen && `${members.length}${end}`}
      </button>
      {isOpen && (
        <>
          <ul className="json__members">
            {members.slice(0, most).map(([name, member]) => (
              <li key={name}>
                {!isList && <span className="json__name">{printable(name)}: </span>}
                <Value value={member} open={open - 1} />
              </li>
            ))}
            {members.length > most && (
              <li>
                <button
                  type="button"
                  className="button button--quiet"
                  onClick={() => setMost(most + 10 * membersShown)}
                >
                  {`+ ${(members.length - most).toLocaleString("en")}`}
                </button>
              </li>
            )}
          </ul>
          <span className="json__plain">{end}</span>
        </>
      )}
    </>
  );
}
