/** What is for the person who looks into the editor's log: standard error, a line each. */

import { plainLine } from "../terminal/output.ts";

export function say(text: string): void {
  process.stderr.write(`bridle acp: ${plainLine(text)}\n`);
}
