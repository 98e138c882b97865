/**
 * Long work in slices, so that it never holds the event loop for long. All long work of the process shares one budget: a turn of
 * the loop has room for one slice, however many readers there are. Those who have to wait go on one in each turn, in the order in
 * which they came.
 */

/** Well below what a person, or a health check, would notice. */
const sliceMs = 10;

/** When the slice of this turn began; null while nobody has used any of it. */
let begun: number | null = null;
const long: (() => void)[] = [];
const short: (() => void)[] = [];

/** To be awaited between pieces of long work, each of which takes a few milliseconds at most. */
export async function nextSlice(): Promise<void> {
  if (begun === null) begin();
  else if (long.length > 0 || isOver(begun)) await turnIn(long);
}

/** The same for what must not wait behind long work, such as a live event: it waits only when this turn has taken long. */
export async function pauseIfLate(): Promise<void> {
  if (begun === null) begin();
  else if (isOver(begun)) await turnIn(short);
}

function isOver(since: number): boolean {
  return performance.now() - since >= sliceMs;
}

function turnIn(queue: (() => void)[]): Promise<void> {
  return new Promise((resolve) => queue.push(resolve));
}

function begin(): void {
  begun = performance.now();
  setImmediate(turn);
}

/** Runs once in every turn of the loop in which there is such work. */
function turn(): void {
  begun = null;
  if (short.length + long.length === 0) return;
  begin();
  short.shift()?.();
  long.shift()?.();
}
