/** Wrong credentials, told now and then: somebody who guesses must not be able to fill the log, nor to stay out of it. */

const everyMs = 60_000;
/** Addresses that are named; of more, how many there are. */
const namedMax = 5;

export interface FailureReport {
  failures: number;
  addresses: string[];
  /** Those that are not named. */
  others: number;
}

export class FailureLog {
  readonly #tell: (report: FailureReport) => void;
  #failures = 0;
  #addresses = new Set<string>();
  #pause: NodeJS.Timeout | null = null;

  constructor(tell: (report: FailureReport) => void) {
    this.#tell = tell;
  }

  /** The first is told at once, what follows once a minute. */
  note(address: string): void {
    this.#failures += 1;
    if (this.#addresses.size < 1000) this.#addresses.add(address);
    if (this.#pause === null) this.#report();
  }

  #report(): void {
    this.#pause = null;
    if (this.#failures === 0) return;
    const addresses = [...this.#addresses];
    this.#tell({
      failures: this.#failures,
      addresses: addresses.slice(0, namedMax),
      others: Math.max(0, addresses.length - namedMax),
    });
    this.#failures = 0;
    this.#addresses = new Set();
    this.#pause = setTimeout(() => this.#report(), everyMs).unref();
  }
}
