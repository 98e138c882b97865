/**
 * Lines on a terminal that are drawn again in place. The terminal is given back as it was, whatever happens: at the end, with Ctrl-C, and
 * when the program breaks.
 */

import { writeSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { widthOf } from "../terminal/text.ts";

/** Shown at once where the terminal can do that, so that no half of a picture is seen. */
const begin = "\u001b[?2026h";
const end = "\u001b[?2026l";
/** No cursor, and nothing that runs over the edge into the next line. */
const take = "\u001b[?25l\u001b[?7l";
const give = "\u001b[?25h\u001b[?7h";
const clearLine = "\u001b[K";
const clearBelow = "\u001b[J";
const ctrlC = 3;

/** A terminal that can be drawn on, or what stands in for one. */
export type Screen = NodeJS.WritableStream & { readonly columns?: number; readonly rows?: number };

export class LiveScreen {
  readonly #output: Screen;
  readonly #input: NodeJS.ReadStream | null;
  readonly #onInterrupt: () => void;
  #isTaken = false;
  #drawn: readonly string[] = [];
  readonly #onKeys = (keys: Buffer) => {
    if (keys.includes(ctrlC)) this.#onInterrupt();
  };
  /** Also when nobody catches an error: the cursor must come back. */
  readonly #onExit = () => {
    if (this.#isTaken) writeSync(1, give);
  };

  /** `input` is read so that keys do not show up between the lines; null where nobody types. */
  constructor(output: Screen, input: NodeJS.ReadStream | null, onInterrupt: () => void) {
    this.#output = output;
    this.#input = input;
    this.#onInterrupt = onInterrupt;
    process.on("exit", this.#onExit);
  }

  get columns(): number {
    return this.#output.columns || 80;
  }

  /** One less than there are, so that the first line is never pushed off the screen. */
  get rows(): number {
    return Math.max(1, (this.#output.rows || 24) - 1);
  }

  draw(lines: readonly string[]): void {
    const isSame = this.#isTaken && lines.join("\n") === this.#drawn.join("\n");
    if (isSame) return;
    const taking = this.#isTaken ? "" : take;
    this.#hold();
    this.#output.write(
      `${begin}${taking}${this.#toTop()}${lines.map((line) => `${line}${clearLine}\n`).join("")}${clearBelow}${end}`,
    );
    this.#drawn = lines;
  }

  /** Gives the terminal to somebody who asks below the lines; `rows` of them are then part of what is drawn over. */
  async lend<T>(use: () => Promise<{ value: T; rows: number }>): Promise<T> {
    this.#release();
    const { value, rows } = await use();
    this.#drawn = [...this.#drawn, ...Array.from({ length: rows }, () => "")];
    return value;
  }

  /** What is on the screen stays there, and the next lines come below. */
  leave(): void {
    this.#drawn = [];
  }

  /** The last picture, which stays. */
  finish(lines: readonly string[]): void {
    this.draw(lines);
    this.close();
  }

  close(): void {
    this.#release();
    process.off("exit", this.#onExit);
  }

  #hold(): void {
    if (this.#isTaken) return;
    this.#isTaken = true;
    this.#input?.setRawMode(true);
    this.#input?.on("data", this.#onKeys).resume();
  }

  #release(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#input?.off("data", this.#onKeys).pause();
    this.#input?.setRawMode(false);
    this.#output.write(give);
  }

  /** Up to the first line, counted as the terminal shows it now: one that got narrower has broken the lines. */
  #toTop(): string {
    const rows = this.#drawn.reduce((sum, line) => {
      return sum + Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(line)) / this.columns));
    }, 0);
    return rows === 0 ? "\r" : `\r\u001b[${rows}A`;
  }
}
