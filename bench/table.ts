/** Results as Markdown tables, padded so that they can be read in a terminal too. */

export interface Section {
  title: string;
  /** What was measured, and what to keep in mind. */
  about: string;
  columns: string[];
  rows: string[][];
}

export function markdown({ title, about, columns, rows }: Section): string {
  const widths = columns.map((column, n) =>
    Math.max(column.length, ...rows.map((row) => row[n]?.length ?? 0)),
  );
  const line = (cells: string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [`## ${title}`, "", about, "", line(columns), line(rule), ...rows.map(line), ""].join("\n");
}
