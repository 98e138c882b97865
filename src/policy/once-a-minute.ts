/** Something that is done at once when it is asked for, and then at most once a minute for as long as it is. */

const everyMs = 60_000;

export class OnceAMinute {
  readonly #act: () => void;
  #isWanted = false;
  #pause: NodeJS.Timeout | null = null;

  constructor(act: () => void) {
    this.#act = act;
  }

  want(): void {
    this.#isWanted = true;
    if (this.#pause === null) this.#run();
  }

  #run(): void {
    this.#pause = null;
    if (!this.#isWanted) return;
    this.#isWanted = false;
    this.#act();
    this.#pause = setTimeout(() => this.#run(), everyMs).unref();
  }
}
