/**
 * The tasks that could run now, fair between sessions: each session's turn comes round, however many tasks another one
 * has queued. Bounded; what does not fit stays on disk and is found again by the next sweep.
 */

export class ReadyQueue {
  readonly #max: number;
  readonly #bySession = new Map<string, string[]>();
  readonly #queued = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#queued.size;
  }

  /** False when there is no room. */
  add(taskId: string, sessionId: string): boolean {
    if (this.#queued.has(taskId)) return true;
    if (this.#queued.size >= this.#max) return false;
    this.#queued.add(taskId);
    const tasks = this.#bySession.get(sessionId);
    if (tasks === undefined) this.#bySession.set(sessionId, [taskId]);
    else tasks.push(taskId);
    return true;
  }

  /** The next task of the session whose turn it is; that session then goes to the end of the line. */
  next(): string | undefined {
    const turn = this.#bySession.entries().next();
    if (turn.done) return undefined;
    const [sessionId, tasks] = turn.value;
    const taskId = tasks.shift();
    this.#bySession.delete(sessionId);
    if (tasks.length > 0) this.#bySession.set(sessionId, tasks);
    if (taskId !== undefined) this.#queued.delete(taskId);
    return taskId;
  }
}
