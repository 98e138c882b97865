/** What somebody is to judge: a flat object as a table of names and values, everything else as JSON. */

import { Diff } from "./Diff.tsx";
import { Json } from "./Json.tsx";
import { commandIn, diffIn } from "./judged.ts";
import { LongText, printable } from "./LongText.tsx";
import { isRedacted } from "./redacted.ts";

export function Payload({ value, depth = 0 }: { value: unknown; depth?: number }) {
  const members =
    typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (members.length === 0) return <Json value={value} open={3} />;
  return (
    <dl className="facts facts--payload">
      {members.map(([name, member]) => (
        <div key={name}>
          <dt>{printable(name).replaceAll("_", " ")}</dt>
          <dd>
            <Member name={name} value={member} depth={depth} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Member({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  const command = commandIn(name, value);
  if (command !== null) {
    return (
      <code className="payload__command">
        <LongText value={command} />
      </code>
    );
  }
  const diff = diffIn(value);
  if (diff !== null) {
    return (
      <>
        <Diff value={diff} />
        {/* What else is said with it, exactly as it is. */}
        {typeof value === "object" && <Json value={value} open={1} />}
      </>
    );
  }
  if (isPlain(value)) return <LongText value={String(value)} />;
  const isFlat = typeof value === "object" && value !== null && !Array.isArray(value) && !isRedacted(value);
  return isFlat && depth === 0 ? <Payload value={value} depth={1} /> : <Json value={value} open={3} />;
}

function isPlain(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
