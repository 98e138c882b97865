/** Talking to whoever sits in front: lines in, lines out, and a line that says what is going on. */

export type Reply =
  | { kind: "line"; text: string }
  /** Ctrl-C with nothing typed. */
  | { kind: "interrupt" }
  /** Ctrl-D, or the end of what was piped in. */
  | { kind: "end" }
  /** The question was withdrawn. */
  | { kind: "aborted" };

export interface Dialogue {
  /** Whether a person is there who can be asked. */
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Whether nothing more will be typed. */
  readonly isEnded: boolean;
  /** Asks for a line. What was typed before the question was there does not count. */
  ask(prompt: string, signal?: AbortSignal): Promise<Reply>;
  /** Text that is already plain; it ends with a new line. */
  print(text: string): void;
  /** For what is not part of the answer. */
  printError(text: string): void;
  /** What is going on, in one line, until something else is printed; null is nothing. */
  progress(text: string | null): void;
  /** Called for Ctrl-C while nothing is asked; Ctrl-D too. */
  onInterrupt(listener: () => void): void;
  close(): void;
}
