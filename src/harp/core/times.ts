/** Points in time as RFC 3339 writes them; texts are hashed and signed as they came, and read only to be compared. */

/** How far the clocks of an enforcer and an approver may be apart. */
export const skewMsDefault = 60_000;

const form =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)T(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?(?:Z|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/;

/** Milliseconds since 1970, or null for what is no real point in time. What is finer than a millisecond is cut off. */
export function parseTime(text: string): number | null {
  const groups = form.exec(text)?.groups;
  if (groups === undefined) return null;
  const part = (name: string) => Number(groups[name] ?? 0);
  const [year, month, day] = [part("year"), part("month"), part("day")];
  const [hour, minute, second] = [part("hour"), part("minute"), part("second")];
  if (hour > 23 || minute > 59 || second > 59 || part("offsetHour") > 23 || part("offsetMinute") > 59)
    return null;
  const date = new Date(0);
  // Not Date.UTC, which takes the year 26 for 1926.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have would have become one of the next month.
  if (date.getUTCMonth() !== month - 1) return null;
  date.setUTCHours(hour, minute, second, Number((groups.fraction ?? "").padEnd(3, "0").slice(0, 3)));
  const offsetMs = (part("offsetHour") * 60 + part("offsetMinute")) * 60_000;
  return date.getTime() - (groups.sign === "-" ? -offsetMs : offsetMs);
}

/** What cannot be read has expired, and so has everything when the clock cannot be read. */
export function isExpired(expiresAt: string, nowMs: number, skewMs: number = skewMsDefault): boolean {
  const expiresAtMs = parseTime(expiresAt);
  return expiresAtMs === null || !(nowMs <= expiresAtMs + skewMs);
}

/** Said to be made later than now, by more than clocks may differ. */
export function isFromTheFuture(createdAt: string, nowMs: number, skewMs: number = skewMsDefault): boolean {
  const createdAtMs = parseTime(createdAt);
  return createdAtMs === null || !(createdAtMs <= nowMs + skewMs);
}

/** For whoever signs: no leeway, the end is the end. */
export function isOver(expiresAt: string, nowMs: number): boolean {
  const expiresAtMs = parseTime(expiresAt);
  return expiresAtMs === null || !(nowMs < expiresAtMs);
}
