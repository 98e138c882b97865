/** Colours and marks, where the output can show them. */

import { styleText } from "node:util";

export interface Style {
  readonly isColored: boolean;
  /** The agent's words, its questions, what it does and how that went, and what we say ourselves. */
  readonly marks: Readonly<
    Record<"says" | "asks" | "notes" | "line" | "done" | "failed" | "waits" | "full" | "empty", string>
  > & { readonly frames: readonly string[] };
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  warning(text: string): string;
  danger(text: string): string;
  accent(text: string): string;
  /** Black and white whatever the terminal has: a picture that a camera reads. */
  picture(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

export interface Surroundings {
  isTerminal: boolean;
  env: Record<string, string | undefined>;
}

export function styleFor({ isTerminal, env }: Surroundings): Style {
  // https://no-color.org: any value that is not empty.
  const isColored = isTerminal && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
  const isUnicode = /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || "");
  const paint = (format: Format) => (text: string) =>
    isColored ? styleText(format, text, { validateStream: false }) : text;
  return {
    isColored,
    marks: isUnicode
      ? {
          says: "●",
          asks: "?",
          notes: "–",
          line: "─",
          done: "✓",
          failed: "✗",
          waits: "◦",
          full: "█",
          empty: "░",
          frames: [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"],
        }
      : {
          says: "*",
          asks: "?",
          notes: "-",
          line: "-",
          done: "+",
          failed: "x",
          waits: ".",
          full: "#",
          empty: "-",
          frames: [..."-\\|/"],
        },
    strong: paint("bold"),
    faint: paint("dim"),
    good: paint("green"),
    warning: paint("yellow"),
    danger: paint(["bold", "red"]),
    accent: paint("cyan"),
    picture: paint(["whiteBright", "bgBlack"]),
  };
}

/** Of this process's own output. */
export function styleOf(stream: { isTTY?: boolean } = process.stdout): Style {
  return styleFor({ isTerminal: stream.isTTY === true, env: process.env });
}
