/** Work that is done at the start and then every so often, never twice at once. */

export interface PeriodicOptions {
  everyMs: number;
  /** The signal is aborted when no further round is wanted. */
  work(signal: AbortSignal): Promise<void>;
  /** A round that failed; the next one comes as usual. */
  onError(error: unknown): void;
}

export class Periodic {
  readonly #options: PeriodicOptions;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;

  constructor(options: PeriodicOptions) {
    this.#options = options;
  }

  get isWorking(): boolean {
    return this.#round !== null;
  }

  /** Resolves when the first round is over. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.now(), this.#options.everyMs);
    this.#timer.unref();
    await this.now();
  }

  /** A round before its time, or the one that is under way. */
  async now(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    this.#round ??= this.#work();
    await this.#round;
  }

  async #work(): Promise<void> {
    try {
      await this.#options.work(this.#stopped.signal);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#round = null;
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#round;
  }
}
