/** What somebody is to judge: a flat object as a table of names and values, everything else as JSON. */

import { Json } from "./Json.tsx";
import { LongText, printable } from "./LongText.tsx";

export function Payload({ value }: { value: unknown }) {
  const members =
    typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (members.length === 0) return <Json value={value} open={3} />;
  return (
    <dl className="facts facts--payload">
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{printable(name).replaceAll("_", " ")}</dt>
          <dd>
            {typeof member === "string" ? <LongText value={member} /> : <Json value={member} open={3} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
