/**
 * Long work in slices, so that it never holds the event loop for long. All long work of the process shares one budget: a turn of
 * the loop has room for one slice, however many readers there are. Those who have to wait go on one in each turn, in the order in
 * which they came.
 */

import { setImmediate as nextTurn } from "node:timers/promises";

/** Well below what a person, or a health check, would notice. */
const sliceMs = 5;
/** While requests are answered: each takes several turns of the loop, and waits for a slice in each of them. */
const besideRequestsMs = 1;
/** A request that takes longer for one step waits for the disk, and does not care about slices. */
const requestStepMs = 20;

/** When a request last came by. */
let requestAt = Number.NEGATIVE_INFINITY;
/** When the slice of this turn began; null while nobody has used any of it. */
let begun: number | null = null;
/** The end of this turn. It keeps the process alive only while somebody waits for it. */
let end: NodeJS.Immediate | null = null;
const pages: (() => void)[] = [];
const frames: (() => void)[] = [];

/** To be awaited before each page of long work; a page takes a few milliseconds. */
export async function nextSlice(): Promise<void> {
  if (begun === null) begin();
  else if (pages.length > 0 || isUsedUp(begun)) await turnIn(pages);
}

/** Work that stops after each piece, done at once: what is known to be small. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  while (true) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** The same in slices, however large it is. */
export async function inSlices<T>(work: Generator<undefined, T>): Promise<T> {
  while (true) {
    await nextSlice();
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * To be awaited after each piece of what is sent of a page, or of a live event. Those who are in the middle of a page go on before
 * anybody begins another one, so few are.
 */
export async function nextFrame(): Promise<void> {
  if (begun === null) begin();
  else if (isUsedUp(begun)) await turnIn(frames);
}

/**
 * To be awaited between the steps of a request, if there is something to wait for. It never waits behind others: at most for the end of
 * this turn, if that is late.
 */
export function pauseIfLate(): Promise<void> | null {
  requestAt = performance.now();
  if (begun === null) begin();
  else if (requestAt - begun >= sliceMs) return nextTurn();
  return null;
}

/** The turn that was to end the slice never comes: for simulations, in which a process ends and this one goes on. */
export function abandonSlice(): void {
  begun = null;
  end = null;
  if (frames.length + pages.length > 0) begin();
}

function isUsedUp(since: number): boolean {
  const now = performance.now();
  return now - since >= (now - requestAt < requestStepMs ? besideRequestsMs : sliceMs);
}

function turnIn(queue: (() => void)[]): Promise<void> {
  end?.ref();
  return new Promise((resolve) => queue.push(resolve));
}

function begin(): void {
  begun = performance.now();
  end = setImmediate(turn).unref();
  if (frames.length + pages.length > 0) end.ref();
}

/** Runs once in every turn of the loop in which there is such work. */
function turn(): void {
  begun = null;
  const next = frames.shift() ?? pages.shift();
  if (next === undefined) return;
  begin();
  next();
}
