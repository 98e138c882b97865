/** A unified diff, line by line. */

import { printable } from "./LongText.tsx";

const linesMax = 5000;

export function Diff({ value }: { value: string }) {
  const lines = value.split("\n").slice(0, linesMax);
  return (
    <pre className="diff">
      {lines.map((line, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text has its lines in order
        <span key={n} className={`diff__line diff__line--${kindOf(line)}`}>
          {printable(line)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function kindOf(line: string): string {
  if (/^(\+\+\+|---|@@|diff |index )/.test(line)) return "meta";
  return line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
}
