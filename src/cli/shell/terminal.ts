/** A dialogue with a person at a terminal: line editing, a history, and nothing on the screen that was not meant to be. */

import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import type { Style } from "../terminal/style.ts";
import { oneLine } from "../terminal/text.ts";
import type { Dialogue, Reply } from "./dialogue.ts";

const frameMs = 120;
const columnsDefault = 80;
const historyMax = 200;
/** Back to the beginning of the line, and nothing from there on. */
const wipe = "\r\u001b[J";

/** A terminal that can be written to, or what stands in for one. */
export type Screen = NodeJS.WritableStream & { readonly columns?: number };

export class Terminal implements Dialogue {
  readonly isTerminal = true;
  readonly #output: Screen;
  readonly #style: Style;
  readonly #lines: Interface;
  #isEnded = false;
  /** The question that is open, and what answers it. */
  #reply: ((reply: Reply) => void) | null = null;
  #interrupted: () => void = () => undefined;
  #status: { text: string; startedAt: number; timer: NodeJS.Timeout } | null = null;

  constructor(input: NodeJS.ReadableStream, output: Screen, style: Style) {
    this.#output = output;
    this.#style = style;
    this.#lines = createInterface({
      input,
      output: this.#echo(),
      terminal: true,
      historySize: historyMax,
      removeHistoryDuplicates: true,
    });
    this.#lines.on("line", (text) => this.#settle({ kind: "line", text }));
    this.#lines.on("SIGINT", () => this.#onInterrupt());
    this.#lines.on("close", () => this.#onEnd());
    // Readline would stop the whole program at Ctrl-Z and come back without its prompt.
    this.#lines.on("SIGCONT", () => {
      if (this.#reply !== null) this.#lines.prompt(true);
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get columns(): number {
    return this.#output.columns || columnsDefault;
  }

  async ask(prompt: string, signal?: AbortSignal): Promise<Reply> {
    this.progress(null);
    if (this.#isEnded) return { kind: "end" };
    if (signal?.aborted) return { kind: "aborted" };
    this.#discardTyped();
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const onAbort = () => {
      this.#output.write("\n");
      this.#settle({ kind: "aborted" });
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#reply = resolve;
    this.#lines.setPrompt(prompt);
    this.#lines.prompt();
    const reply = await promise;
    signal?.removeEventListener("abort", onAbort);
    return reply;
  }

  print(text: string): void {
    const { text: status } = this.#status ?? {};
    if (this.#status !== null || this.#reply !== null) this.#output.write(wipe);
    this.#output.write(`${text}\n`);
    if (this.#reply !== null) this.#lines.prompt(true);
    else if (status !== undefined) this.#draw();
  }

  printError(text: string): void {
    this.print(text);
  }

  progress(text: string | null): void {
    if (text === null) {
      if (this.#status === null) return;
      clearInterval(this.#status.timer);
      this.#status = null;
      this.#output.write(wipe);
      return;
    }
    if (this.#status === null) {
      const timer = setInterval(() => this.#draw(), frameMs);
      this.#status = { text, startedAt: Date.now(), timer };
    }
    this.#status.text = text;
    this.#draw();
  }

  onInterrupt(listener: () => void): void {
    this.#interrupted = listener;
  }

  close(): void {
    this.progress(null);
    this.#lines.close();
  }

  #draw(): void {
    // A question is more important than what goes on beside it.
    if (this.#status === null || this.#reply !== null) return;
    const { text, startedAt } = this.#status;
    const { frames } = this.#style.marks;
    const elapsedMs = Date.now() - startedAt;
    const frame = frames[Math.floor(elapsedMs / frameMs) % frames.length] ?? "";
    const seconds = Math.floor(elapsedMs / 1000);
    const line = oneLine(`${text}${seconds < 2 ? "" : ` ${seconds} s`}`, this.columns - 3);
    this.#output.write(`${wipe}${this.#style.accent(frame)} ${this.#style.faint(line)}`);
  }

  #settle(reply: Reply): void {
    const resolve = this.#reply;
    this.#reply = null;
    resolve?.(reply);
  }

  #onInterrupt(): void {
    if (this.#reply === null) {
      this.#interrupted();
      return;
    }
    const isEmpty = this.#lines.line === "";
    this.#output.write("^C\n");
    if (isEmpty) {
      this.#settle({ kind: "interrupt" });
    } else {
      this.#discardTyped();
      this.#lines.prompt();
    }
  }

  #onEnd(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#reply === null) {
      this.#interrupted();
    } else {
      this.#output.write("\n");
      this.#settle({ kind: "end" });
    }
  }

  #discardTyped(): void {
    const asking = this.#reply;
    this.#reply = null;
    this.#lines.write(null, { ctrl: true, name: "e" });
    this.#lines.write(null, { ctrl: true, name: "u" });
    this.#reply = asking;
  }

  /** What readline shows of what is typed, which is nothing while nothing is asked. */
  #echo(): Writable {
    const output = this.#output;
    const isAsking = () => this.#reply !== null;
    const echo = new Writable({
      write(chunk, _encoding, done) {
        if (isAsking()) output.write(chunk);
        done();
      },
    });
    Object.defineProperty(echo, "columns", { get: () => this.columns });
    output.on("resize", () => echo.emit("resize"));
    return echo;
  }
}
