/**
 * What a run is busy with, and whose turn it is: results are given in turns of the event loop of their own (J6), and code that asks for
 * nothing for a while has come to a standstill.
 */

import { endOfTurn, never } from "./promises.ts";

/** Code that asks for nothing for so long is not going to. Between steps it only computes, so this is long. */
const standstillTurns = 3;
const standstillMs = 25;

export interface ActivityOptions {
  /** The run has ended: nothing of it goes on. */
  isEnded(): boolean;
  /** A record is on its way to the disk. */
  isWriting(): boolean;
  /** Called when a step has ended. */
  onStepEnded(): void;
  /** Called when a branch has had its turn. */
  onTurnTaken(): void;
}

export class Activity {
  readonly #options: ActivityOptions;
  #stepsRunning = 0;
  /** Steps that wait for a person or for a time before they go on, or before they begin. */
  #stepsWaiting = 0;
  /** Branches of the code that wait for their turn, or for others to catch up. */
  #queued = 0;
  /** Steps asked for and results given again so far: while this grows, the code is still busy. */
  #moves = 0;
  /** The last result that was given has had its turn of the event loop. */
  #turn: Promise<void> = Promise.resolve();

  constructor(options: ActivityOptions) {
    this.#options = options;
  }

  /** The code of a step runs. */
  get isStepRunning(): boolean {
    return this.#stepsRunning > 0;
  }

  get isStepWaiting(): boolean {
    return this.#stepsWaiting > 0;
  }

  /** Something is done now, and not only waited for. */
  get isBusy(): boolean {
    return Math.max(0, this.#stepsRunning - this.#stepsWaiting) + this.#queued > 0;
  }

  /** No step has begun and not ended, and no branch is about to go on. */
  get isNothing(): boolean {
    return this.#stepsRunning + this.#stepsWaiting + this.#queued === 0;
  }

  /** The code of a step begins to run. Returns the way to say that it has ended. */
  beginStep(): () => void {
    this.#stepsRunning += 1;
    return () => {
      this.#stepsRunning -= 1;
      this.#options.onStepEnded();
    };
  }

  /** A step waits for somebody outside, or for a time, before it goes on. The run stays in memory for it. */
  async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.#stepsWaiting += 1;
    try {
      return await wait();
    } finally {
      this.#stepsWaiting -= 1;
    }
  }

  /** The code has asked for a step, or was given a result. */
  moved(): void {
    this.#moves += 1;
  }

  /** The rest of this turn of the event loop belongs to what is given now (J6). */
  async takeTurn(): Promise<void> {
    const mine = this.#turn;
    this.#turn = mine.then(endOfTurn);
    await this.#whileQueued(() => mine);
  }

  /** Waits until it is so; false when the code has come to a standstill before: it asks for nothing, we write nothing. */
  async holds(condition: () => boolean): Promise<boolean> {
    return await this.#whileQueued(() => this.#untilStandstill(condition));
  }

  /** A run with branches that are about to go on is not dropped from memory. */
  async #whileQueued<T>(waiting: () => Promise<T>): Promise<T> {
    this.#queued += 1;
    try {
      return await waiting();
    } finally {
      this.#queued -= 1;
      this.#options.onTurnTaken();
    }
  }

  async #untilStandstill(condition: () => boolean): Promise<boolean> {
    let seen = this.#moves;
    let turns = 0;
    let since = performance.now();
    while (!condition()) {
      await endOfTurn();
      if (this.#options.isEnded()) return await never();
      turns += 1;
      if (seen !== this.#moves || this.#stepsRunning > 0 || this.#options.isWriting()) {
        seen = this.#moves;
        turns = 0;
        since = performance.now();
      }
      if (turns >= standstillTurns && performance.now() - since >= standstillMs) return false;
    }
    return true;
  }
}
