/**
 * Rows of the log, and the checksum that each of them carries: CRC-32 over positions, shared columns, numbers and events as they are in
 * the table. It is checked whenever a row is read, so that damage is reported and never answered with. Rows of old SQLite databases have none.
 */

import { crc32 } from "node:zlib";
import { type LogEntry, parseEntries, type Shared } from "./compact-entries.ts";
import { type Position, StoreDamaged, type StoredEvent } from "./port.ts";

/** What a database gives for a column. */
export type Value = null | number | bigint | string | Uint8Array;
export type Row = Record<string, Value>;

/** The columns that the events of a row share, in the order that they are summed in. */
export const sharedColumns = [
  "tenant_id",
  "workspace_id",
  "session_id",
  "task_id",
  "actor",
  "key_id",
  "created_at",
] as const;

export interface SummedRow {
  first: Position;
  last: Position;
  shared: readonly Value[];
  numbers: string;
  events: string;
}

export function checksumOf({ first, last, shared, numbers, events }: SummedRow): number {
  // A loop: this is done for every row that is read, and `map` and `join` take longer than the sum itself.
  let head = `${first}\n${last}`;
  for (const value of shared) head += `\n${value ?? "\0"}`;
  // In one call, which is the same sum and takes half of the time.
  return crc32(`${head}${numbers}${events}`);
}

/** The checked texts of a row. Throws `StoreDamaged`. */
export function checkedRow(row: Row, file: string): SummedRow {
  const summed = {
    first: Number(row.first),
    last: Number(row.last),
    shared: sharedColumns.map((column) => row[column] ?? null),
    numbers: String(row.numbers),
    events: String(row.events),
  };
  if (row.checksum !== null && checksumOf(summed) !== Number(row.checksum)) {
    throw new StoreDamaged(file, summed);
  }
  return summed;
}

/** The events of a row, each with its whole payload. */
export function entriesOf({ events, shared }: SummedRow): LogEntry[] {
  return parseEntries(events, sharedOf(shared));
}

function sharedOf(values: readonly Value[]): Shared {
  const [tenantId, workspaceId, sessionId, taskId, actor, , createdAt] = values;
  return {
    tenantId: String(tenantId),
    workspaceId: textOrNull(workspaceId),
    sessionId: textOrNull(sessionId),
    taskId: textOrNull(taskId),
    actor: textOrNull(actor),
    createdAt: String(createdAt),
  };
}

export function toEvents(row: Row, file: string): StoredEvent[] {
  const checked = checkedRow(row, file);
  const columns = sharedOf(checked.shared);
  const entries = parseEntries(checked.events, columns);
  const numbers: [number, number | null][] = JSON.parse(checked.numbers);
  const { createdAt, ...rest } = columns;
  const keyId = typeof row.key_id === "string" ? { keyId: row.key_id } : {};
  const shared = { ...rest, ...keyId, createdAt };
  return entries.map(([event, object, id, payload, replay = null, imported], index) => {
    const [sequence, previous] = numbers[index] ?? [0, null];
    const position = checked.first + index;
    const stored = { ...shared, position, event, resource: { object, id }, sequence, previous, payload };
    const marked = replay === null ? stored : { ...stored, replay };
    return imported === undefined ? marked : { ...marked, imported };
  });
}

function textOrNull(value: Value | undefined): string | null {
  return typeof value === "string" ? value : null;
}
