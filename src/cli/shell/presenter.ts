/** How a chat looks: the agent's words, its files, what the shell has to say itself, and errors. */

import {
  type Directive,
  type Json,
  type JsonObject,
  messageText,
  type Progress,
  type ShellError,
} from "../../sdk/shell/index.ts";
import type { Style } from "../terminal/style.ts";
import { escapeControls, oneLine, wrap } from "../terminal/text.ts";
import type { Dialogue } from "./dialogue.ts";

/** Nobody reads more of one message on a terminal, and everything has to be laid out in lines. */
const messageCharsMax = 100_000;
const attachmentsMax = 100;

export class Presenter {
  readonly #dialogue: Dialogue;
  readonly #style: Style;

  constructor(dialogue: Dialogue, style: Style) {
    this.#dialogue = dialogue;
    this.#style = style;
  }

  /** A `render_message`. */
  message(directive: Directive): void {
    const { marks, accent, strong } = this.#style;
    const isQuestion = directive.kind === "question";
    const text = messageText(directive) ?? "";
    const mark = isQuestion ? strong(accent(marks.asks)) : accent(marks.says);
    const files = attachmentLines(directive.payload);
    // A message that is a file's name says nothing that the file's own line does not.
    const isName = files.length === 1 && files[0]?.startsWith(`[${text}]`);
    if (text !== "" && !isName) this.#paragraph(text, mark, isQuestion ? strong : (line) => line);
    for (const line of files) this.#dialogue.print(`${isName ? mark : " "} ${line}`);
  }

  /** A text in the place of something that cannot be done here. */
  notice(text: string): void {
    this.#paragraph(text, this.#style.warning("!"), (line) => line);
  }

  /** What helps a person, and no program. */
  hint(text: string): void {
    if (this.#dialogue.isTerminal) this.note(text);
  }

  /** What the shell says itself. In a pipe it is not part of the answer. */
  note(text: string): void {
    const { isTerminal, columns } = this.#dialogue;
    if (!isTerminal) {
      this.#dialogue.printError(`bridle: ${escapeControls(text)}`);
      return;
    }
    const [first = "", ...rest] = wrap(text, columns - 3);
    const lines = [`${this.#style.marks.notes} ${first}`, ...rest.map((line) => `  ${line}`)];
    this.#dialogue.print(lines.map(this.#style.faint).join("\n"));
  }

  error(message: string, code?: string): void {
    const text = `${message}${code === undefined ? "" : ` (${code})`}`;
    if (this.#dialogue.isTerminal) this.#paragraph(text, this.#style.danger("!"), this.#style.danger);
    else this.#dialogue.printError(`bridle: ${escapeControls(text)}`);
  }

  /** A run that failed has a reason of its own, which says more than that it failed. */
  failure({ message, code, details }: ShellError): void {
    this.error(message, typeof details.failure_code === "string" ? details.failure_code : code);
  }

  progress({ message, percent }: Progress): void {
    const part = percent === undefined ? "" : ` ${Math.round(percent)} %`;
    this.#dialogue.progress(`${message ?? "working"}${part}`);
  }

  #paragraph(text: string, mark: string, paint: (line: string) => string): void {
    const shown = text.slice(0, messageCharsMax);
    const rest = text.length - shown.length;
    const { isTerminal, columns } = this.#dialogue;
    if (!isTerminal) {
      this.#dialogue.print(escapeControls(text));
      return;
    }
    const lines = wrap(shown, columns - 3).map((line, index) => {
      if (index === 0) return `${mark} ${paint(line)}`;
      return line === "" ? "" : `  ${paint(line)}`;
    });
    this.#dialogue.print(lines.join("\n"));
    if (rest > 0) this.note(`and ${rest} more characters`);
  }
}

/** The files that come with a message. */
function attachmentLines(payload: JsonObject): string[] {
  const { attachments } = payload;
  if (!Array.isArray(attachments)) return [];
  return attachments.slice(0, attachmentsMax).flatMap((item) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return [];
    const { filename, mime_type, size_bytes, ref_id, uri } = item;
    const size = typeof size_bytes === "number" ? sizeText(size_bytes) : null;
    const facts = [mime_type, size, ref_id ?? uri].filter((fact) => isText(fact));
    const name = isText(filename) ? filename : "file";
    return [oneLine(`[${name}] ${facts.join(", ")}`, messageCharsMax)];
  });
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string" && value !== "";
}

export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [unit, size] =
    bytes < 1e6 ? ["KB", bytes / 1e3] : bytes < 1e9 ? ["MB", bytes / 1e6] : ["GB", bytes / 1e9];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}
