/**
 * Whether writes reach the disk. After one that did not, the store is faulty until a write succeeds: a commit, or a probe, which
 * is tried at growing intervals. While writes succeed there is no probe, except on a store that has been idle for a while.
 */

const probeMsFirst = 250;
const probeMsMax = 5000;
/** A disk that fails while nobody writes is noticed within this time, for the price of one small write. */
const idleMs = 60_000;

export interface WriteHealthOptions {
  /** Writes and syncs something small. Resolves to what is wrong; null if it is on disk. */
  probe(): Promise<string | null>;
  /** Called when the fault changes; null when writes succeed again. */
  onFault(fault: string | null): void;
}

export class WriteHealth {
  readonly #options: WriteHealthOptions;
  #fault: string | null = null;
  #timer: NodeJS.Timeout | null = null;
  #delayMs = probeMsFirst;
  #wroteSinceTimer = false;
  #isClosed = false;

  constructor(options: WriteHealthOptions) {
    this.#options = options;
  }

  get fault(): string | null {
    return this.#fault;
  }

  succeeded(): void {
    this.#wroteSinceTimer = true;
    if (this.#fault !== null) {
      this.#delayMs = probeMsFirst;
      this.#change(null);
      this.#schedule(idleMs);
    } else if (this.#timer === null) this.#schedule(idleMs);
  }

  failed(fault: string): void {
    const isNew = this.#fault === null;
    if (this.#fault !== fault) this.#change(fault);
    if (isNew) this.#schedule(this.#delayMs);
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #change(fault: string | null): void {
    this.#fault = fault;
    this.#options.onFault(fault);
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#wroteSinceTimer = false;
    this.#timer = setTimeout(() => void this.#look(), delayMs).unref();
  }

  async #look(): Promise<void> {
    if (this.#fault === null && this.#wroteSinceTimer) return this.#schedule(idleMs);
    const fault = await this.#options.probe().catch(() => "the writer stopped");
    if (fault === null) {
      this.succeeded();
      this.#schedule(idleMs);
    } else {
      this.failed(fault);
      this.#delayMs = Math.min(this.#delayMs * 2, probeMsMax);
      this.#schedule(this.#delayMs);
    }
  }
}
