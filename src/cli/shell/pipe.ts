/** A dialogue with a program: a line of input is a line, output is plain, and nobody can be asked. */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Dialogue, Reply } from "./dialogue.ts";

/** A terminal's width, for those who read what was written to a file. */
const columns = 100;

export function pipeDialogue(input: Readable, out: NodeJS.WriteStream, error: NodeJS.WriteStream): Dialogue {
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  return {
    isTerminal: false,
    columns,
    isEnded: false,
    async ask(): Promise<Reply> {
      const next = await lines.next();
      return next.done === true ? { kind: "end" } : { kind: "line", text: next.value };
    },
    print: (text) => void out.write(`${text}\n`),
    printError: (text) => void error.write(`${text}\n`),
    progress: () => undefined,
    onInterrupt: () => undefined,
    close: () => input.destroy(),
  };
}
