/** Points in time: as RFC 3339 writes them on the wire, and as milliseconds since 1970 in here. */

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Null for what is no real point in time. What is finer than a millisecond is cut off. */
export function instantOf(text: string): number | null {
  const found = form.exec(text);
  if (found === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const [, , , , , , , fraction = "", sign, offsetHour = "0", offsetMinute = "0"] = found;
  if (hour > 23 || minute > 59 || second > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) {
    return null;
  }
  const date = new Date(0);
  // Not Date.UTC, which takes the year 26 for 1926.
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have has become one of the next.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second, Number(fraction.padEnd(3, "0").slice(0, 3)));
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return date.getTime() - (sign === "-" ? -offsetMs : offsetMs);
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
