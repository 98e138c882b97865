/** How the tour looks: parts with a heading, what happened in columns, and what it means in fainter lines below. */

import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine, widthOf, wrap } from "../terminal/text.ts";

/** Wider lines are hard to read. */
const columnsMax = 100;
const columnsMin = 40;
const columnsUsual = 80;
const indent = "   ";
const kindColumns = 7;
const nameColumns = 16;

export class Page {
  readonly style: Style;
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void, style: Style) {
    this.#write = write;
    this.style = style;
  }

  /** As wide as the terminal is now. */
  get columns(): number {
    return Math.max(columnsMin, Math.min(process.stdout.columns || columnsUsual, columnsMax)) - 1;
  }

  heading(title: string, remark = "", paint = this.style.accent): void {
    const line = (count: number) => paint(this.style.marks.line.repeat(Math.max(2, count)));
    const room = this.columns - widthOf(title) - widthOf(remark) - (remark === "" ? 5 : 9);
    const end = remark === "" ? "" : ` ${paint(remark)} ${line(2)}`;
    this.print("", `${line(2)} ${this.style.strong(title)} ${line(room)}${end}`);
  }

  /** Something that happened: what it was, its name, what came of it. */
  item(kind: string, name: string, result: string): void {
    const head = `${kind.padEnd(kindColumns)}${name.padEnd(nameColumns)} `;
    const room = this.columns - indent.length - head.length;
    const done = this.style.good(this.style.marks.done);
    this.print(` ${done} ${this.style.strong(head)}${oneLine(escapeControls(result), room)}`);
  }

  text(text: string, paint = (line: string) => line): void {
    this.print(...wrap(text, this.columns - indent.length).map((line) => `${indent}${paint(line)}`));
  }

  /** What it means. */
  note(text: string): void {
    this.text(text, this.style.faint);
  }

  /** Words of others, which cannot pass for ours behind the bar. */
  quote(text: string): void {
    const quoted = this.quoting();
    quoted.add(text);
    quoted.end();
  }

  /** The same for what comes piece by piece: a line is shown once nothing can change it. */
  quoting(): { add(text: string): void; end(): void } {
    const bar = this.style.faint("│");
    let text = "";
    let shown = 0;
    const show = (count: number) => {
      const lines = wrap(text, this.columns - indent.length - 2);
      const upTo = Math.max(shown, lines.length - count);
      this.print(...lines.slice(shown, upTo).map((line) => `${indent}${bar} ${line}`.trimEnd()));
      shown = upTo;
    };
    return {
      add(piece) {
        text += escapeControls(piece);
        show(1);
      },
      end: () => show(0),
    };
  }

  /** Names, or commands, and what there is to say of each. */
  rows(rows: readonly (readonly [name: string, what: string])[]): void {
    const width = Math.max(...rows.map(([name]) => name.length)) + 2;
    for (const [name, what] of rows) {
      // Where there is no room beside it, below it.
      const isBeside = width < this.columns / 2;
      const used = indent.length + (isBeside ? width : indent.length);
      const lines = wrap(what, this.columns - used).map((line) => this.style.faint(line));
      const head = `${indent}${this.style.accent(isBeside ? name.padEnd(width) : name)}`;
      if (isBeside) this.print(`${head}${lines.shift() ?? ""}`);
      else this.print(head);
      this.print(...lines.map((line) => `${" ".repeat(used)}${line}`));
    }
  }

  print(...lines: string[]): void {
    for (const line of lines) this.#write(`${line}\n`);
  }
}
