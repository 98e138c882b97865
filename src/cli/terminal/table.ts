import { styleOf } from "./style.ts";
import { oneLine, padded, widthOf } from "./text.ts";

/** Rows under headings, as wide as the terminal lets them be. */

const gap = "  ";
/** The narrowest that a column is made to fit a terminal. */
const cellCharsMin = 8;

/** What is in the cells may come from anywhere. The last column gives way; nothing is cut where no terminal is. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => oneLine(cell)));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => widthOf(row[column] ?? ""))),
  );
  const last = headings.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(cellCharsMin, terminalColumns() - before - 1);
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === last ? oneLine(cell, room) : padded(cell, widths[column] ?? 0)))
      .join(gap)
      .trimEnd();
  return [styleOf().faint(line(headings)), ...cells.map(line)].map((text) => `${text}\n`).join("");
}

/** What there is to know of something, a fact a line; what is null is left out. */
export function facts(rows: readonly (readonly [name: string, value: string | null])[]): string {
  const { faint } = styleOf();
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows
    .flatMap(([name, value]) => (value === null ? [] : [`${faint(name.padEnd(width))}  ${oneLine(value)}\n`]))
    .join("");
}

/** A pipe is as wide as it needs to be. */
function terminalColumns(): number {
  return process.stdout.isTTY === true ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
}
