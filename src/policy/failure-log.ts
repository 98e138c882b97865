/** What happens again and again, reported now and then: somebody who guesses must not be able to fill the log, nor to stay out of it. */

import { OnceAMinute } from "./once-a-minute.ts";

/** Addresses that are named; of more, how many there are. */
const namedMax = 5;

export interface FailureReport {
  failures: number;
  addresses: string[];
  /** Those that are not named. */
  others: number;
}

export class FailureLog {
  readonly #reports: OnceAMinute;
  #failures = 0;
  #addresses = new Set<string>();

  /** The first is told at once, what follows once a minute. */
  constructor(tell: (report: FailureReport) => void) {
    this.#reports = new OnceAMinute(() => tell(this.#take()));
  }

  note(address: string): void {
    this.#failures += 1;
    if (this.#addresses.size < 1000) this.#addresses.add(address);
    this.#reports.want();
  }

  #take(): FailureReport {
    const addresses = [...this.#addresses];
    const failures = this.#failures;
    this.#failures = 0;
    this.#addresses = new Set();
    return {
      failures,
      addresses: addresses.slice(0, namedMax),
      others: Math.max(0, addresses.length - namedMax),
    };
  }
}
