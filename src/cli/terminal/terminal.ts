/** A person at a terminal: text that drives nothing, a little colour, and questions. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";

/** Whether there is somebody who can be asked. Questions go to standard error, so that results stay clean. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/**
 * What must not reach a terminal from outside: it would move the cursor, turn the direction of writing, or not be seen.
 * Line ends are kept; whoever wants one line says so. What only says how the picture before it looks is kept too.
 */
const driving =
  /(?<!\p{Extended_Pictographic})\ufe0f|[^\P{Cc}\n]|(?!\ufe0f)[\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same text, with all such characters spelled out. */
export function harmless(text: string): string {
  return text
    .replaceAll(/\r\n/g, "\n")
    .replaceAll("\t", "    ")
    .replaceAll(driving, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** On one line, and as much of it as fits. */
export function harmlessLine(text: string, width = Number.POSITIVE_INFINITY): string {
  const line = harmless(text.replaceAll(/\s+/g, " ").trim());
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** JSON of the same value, spelled so that no terminal obeys what is in it. */
export function harmlessJson(value: unknown, indent?: number): string {
  return harmlessJsonText(JSON.stringify(value, null, indent));
}

/** The same for what is JSON already. */
export function harmlessJsonText(json: string): string {
  return json.replaceAll(driving, (character) =>
    Array.from({ length: character.length }, (_, i) => {
      return `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`;
    }).join(""),
  );
}

const gutter = "  │ ";

/** Where nobody says how wide it is. */
const columnsDefault = 100;

/** Several lines, each behind a bar: what is in them cannot pass for something that we say. */
export function quoted(text: string): string {
  const width = Math.max(20, columns() - gutter.length - 1);
  return harmless(text)
    .split("\n")
    .flatMap((line) => broken(line, width))
    .map((line) => `${gutter}${line}\n`)
    .join("");
}

/** Whether a text is one line, and stays one behind this many columns. */
export function fitsBehind(text: string, used: number): boolean {
  const line = harmless(text);
  return !line.includes("\n") && used + widthOf(line) < columns();
}

function columns(): number {
  // A terminal may not know either, and say 0.
  return process.stdout.columns || columnsDefault;
}

/** Broken by us, since a terminal would go on at the edge, outside of the bar. */
function broken(line: string, width: number): string[] {
  const parts: string[] = [];
  let part = "";
  let used = 0;
  for (const character of line) {
    const wide = widthOf(character);
    if (used + wide > width) {
      parts.push(part);
      [part, used] = ["", 0];
    }
    part += character;
    used += wide;
  }
  return [...parts, part];
}

/** At most: whatever is not plain may be twice as wide. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += character <= "~" ? 1 : 2;
  return width;
}

const colours = { picture: "97;40", bold: "1", dim: "2", red: "1;31", yellow: "33", green: "32" } as const;

/** Plain where nobody sees it, or where it is not wanted. */
export function coloured(
  text: string,
  colour: keyof typeof colours,
  stream: { isTTY?: boolean } = process.stdout,
): string {
  const { NO_COLOR, TERM } = process.env;
  const isWanted = stream.isTTY === true && !NO_COLOR && TERM !== "dumb";
  return isWanted ? `\x1b[${colours[colour]}m${text}\x1b[0m` : text;
}

/** A fingerprint as people compare it: groups of four, eight to a line. */
export function inFours(hex: string): string {
  const groups = hex.match(/.{1,4}/g) ?? [];
  const lines = [groups.slice(0, 8), groups.slice(8)].filter(({ length }) => length > 0);
  return lines.map((line) => `    ${line.join(" ")}\n`).join("");
}

/** Long enough for what is in the terminal's buffer to arrive. */
const settleMs = 50;

/** Null when there is no answer: end of input, Ctrl-C, or the signal. */
export async function ask(question: string, signal?: AbortSignal): Promise<string | null> {
  await forgetTypedAhead();
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  return await answered(lines, question, signal);
}

/** The same without showing what is typed. */
export async function askHidden(question: string): Promise<string | null> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // Only now that the terminal shows nothing any more.
  process.stderr.write(question);
  const answer = await answered(lines, "");
  process.stderr.write("\n");
  return answer;
}

async function answered(
  lines: ReturnType<typeof createInterface>,
  question: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const gone = new Promise<null>((resolve) => {
    lines.once("close", () => resolve(null));
    lines.once("SIGINT", () => resolve(null));
  });
  try {
    const answer = lines.question(question, signal === undefined ? {} : { signal });
    return await Promise.race([answer, gone]);
  } catch (error) {
    if (signal?.aborted === true) return null;
    throw error;
  } finally {
    lines.close();
  }
}

/** What was typed before a question was asked is no answer to it. */
async function forgetTypedAhead(): Promise<void> {
  const { stdin } = process;
  const forget = () => {};
  stdin.setRawMode?.(true);
  stdin.on("data", forget).resume();
  await after(settleMs);
  stdin.off("data", forget).pause();
  stdin.setRawMode?.(false);
}
