/** Quotas for a person: bars on a terminal, numbers everywhere. */

import { limitNames } from "../../kernel/kinds/quota.ts";
import { bar } from "../terminal/progress-bar.ts";
import { styleOf } from "../terminal/style.ts";
import { table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";

export interface Quota {
  id: string;
  scope: string;
  limits: Record<string, number>;
  usage: Record<string, number>;
  soft_limit: boolean;
  on_exhaustion: string;
  reset_window: string | null;
  reset_at: string | null;
  exhaustion_reason: string | null;
}

interface Use {
  limit: string;
  most: number;
  used: number;
  left: number;
}

/** From here on it is worth a look. */
const shareHigh = 0.8;
const barChars = 20;

function usesOf({ limits, usage }: Quota): Use[] {
  return limitNames.flatMap((limit) => {
    const most = limits[limit];
    const used = usage[limit] ?? 0;
    // Sums of money are kept to a millionth of a cent.
    const left = Math.round(Math.max(0, (most ?? 0) - used) * 1e8) / 1e8;
    return most === undefined ? [] : [{ limit, most, used, left }];
  });
}

export function listQuotas(quotas: readonly Quota[]): string {
  if (quotas.length === 0) return "There is no quota. Make one with `bridle quota set`.\n";
  const rows = quotas.flatMap((quota) =>
    usesOf(quota).map(({ limit, most, used, left }) => [
      quota.id,
      quota.scope,
      limit,
      `${used} of ${most}`,
      String(left),
      quota.reset_at ?? "never",
    ]),
  );
  return table(["quota", "scope", "limit", "used", "left", "counts anew at"], rows);
}

export function describeQuota(quota: Quota): string {
  const { id, scope, soft_limit, on_exhaustion, reset_window, reset_at, exhaustion_reason } = quota;
  const uses = usesOf(quota);
  const width = Math.max(0, ...uses.map(({ limit }) => limit.length));
  const lines = uses.map(({ limit, most, used, left }) => {
    return `  ${limit.padEnd(width)}  ${drawn(used, most)}${used} of ${most}, ${left} left\n`;
  });
  const { storage_bytes } = quota.limits;
  if (storage_bytes !== undefined) lines.push(`  ${storedAs(quota.usage)}\n`);
  const window = reset_window === null ? "" : `every ${reset_window}, `;
  const facts = [
    soft_limit
      ? "passing a limit is said, not refused"
      : `at a limit a task ${on_exhaustion === "ask" ? "asks to go on" : "ends"}`,
    reset_at === null ? "counts on for ever" : `counts anew ${window}next at ${reset_at}`,
  ];
  const exhausted = exhaustion_reason === null ? "" : `  exhausted: ${oneLine(exhaustion_reason)}\n`;
  return `${oneLine(`${id}, for a ${scope}: ${facts.join("; ")}`)}\n${lines.join("")}${exhausted}`;
}

function storedAs({ log_bytes, blob_bytes, file_bytes }: Quota["usage"]): string {
  return `stored: log ${log_bytes ?? 0}, blobs ${blob_bytes ?? 0}, files ${file_bytes ?? 0} bytes`;
}

/** Only a terminal is shown pictures. */
function drawn(used: number, most: number): string {
  if (process.stdout.isTTY !== true) return "";
  const share = most <= 0 ? 1 : used / most;
  const { danger, warning, good } = styleOf();
  const paint = share >= 1 ? danger : share >= shareHigh ? warning : good;
  return `${paint(bar(share, barChars))}  `;
}
