/** The rows of a file of comma-separated values (RFC 4180): quotes hold commas, line ends and doubled quotes. */
export function readCsv(value: string, rowsMax: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of value.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted === undefined ? (plain ?? "") : quoted.replaceAll('""', '"'));
    if (end === ",") continue;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    if (rows.length >= rowsMax) break;
    row = [];
  }
  return rows;
}
