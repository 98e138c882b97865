/** Rows under headings, as wide as the terminal lets them be. */

import { coloured, harmlessLine } from "./terminal.ts";

const gap = "  ";
/** The narrowest that a column is made to fit a terminal. */
const cellCharsMin = 8;

/** What is in the cells may come from anywhere. The last column gives way; nothing is cut where no terminal is. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => harmlessLine(cell)));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const last = headings.length - 1;
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + gap.length, 0);
  const room = Math.max(cellCharsMin, terminalColumns() - before - 1);
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => (column === last ? harmlessLine(cell, room) : cell.padEnd(widths[column] ?? 0)))
      .join(gap)
      .trimEnd();
  return [coloured(line(headings), "dim"), ...cells.map(line)].map((text) => `${text}\n`).join("");
}

/** A pipe is as wide as it needs to be. */
function terminalColumns(): number {
  return process.stdout.isTTY === true ? process.stdout.columns || 80 : Number.POSITIVE_INFINITY;
}
