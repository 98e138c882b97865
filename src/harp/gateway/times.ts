/** Points in time as a gateway writes them; how they are read is the same for everybody. */

export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
