/**
 * Reads a line of a POSIX-like shell (sh, bash, zsh) far enough to know which commands it would run. What cannot be known
 * before it runs (variables, substitutions, patterns) is a word without text, and may be anything. What cannot be read at
 * all makes the whole line unreadable. Both are errors on the safe side: nobody is let through because of them.
 *
 * Commands inside of substitutions, groups and loops are commands of the line like all others.
 */

import { type ReadWord, type ShellOptions, type Word, WordParts } from "./shell-words.ts";

export interface ShellCommand {
  words: Word[];
  /** Whether variables are set for it, which can change what it does: `PATH=/tmp ls`. */
  hasAssignments: boolean;
  /** What it writes to or reads from; descriptors and /dev/null are left out. */
  redirects: Word[];
  /** What it is given as input in the line itself: here-documents and here-strings. */
  input: Word | undefined;
  /** Whether its input is the output of the command before it. */
  isPiped: boolean;
}

export interface ShellLine {
  commands: ShellCommand[];
  isReadable: boolean;
}

const lineCharsMax = 64 * 1024;
const depthMax = 12;

/** Words that begin a command without being one: the command is behind them. */
const keywords = new Set(["if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "!"]);
/** Behind these a command begins wherever they are: zsh has forms of loops and conditions without a separator. */
const openers = new Set(["{", "}", "]]"]);
/** What follows can be a name or a command. */
const unreadableKeywords = new Set(["function", "coproc"]);

export function readShellLine(line: string, options: ShellOptions): ShellLine {
  const commands: ShellCommand[] = [];
  try {
    if (line.length > lineCharsMax) throw new Unreadable();
    new Reader(line, options, commands, 0).list(null);
    return { commands, isReadable: true };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { commands, isReadable: false };
  }
}

class Unreadable extends Error {}

class Reader {
  readonly #text: string;
  readonly #options: ShellOptions;
  readonly #found: ShellCommand[];
  readonly #depth: number;
  /** Delimiters of here-documents that begin behind the next end of line. */
  #documents: { delimiter: string; isLiteral: boolean; isIndented: boolean; command: ShellCommand }[] = [];
  /** Open parentheses, and `case` without its `esac`. */
  #groups = 0;
  #cases = 0;
  #at = 0;

  constructor(text: string, options: ShellOptions, found: ShellCommand[], depth: number) {
    if (depth > depthMax || text.includes("\0") || !text.isWellFormed()) throw new Unreadable();
    this.#text = text;
    this.#options = options;
    this.#found = found;
    this.#depth = depth;
  }

  /** Commands up to the closing character, or to the end of the text. */
  list(closing: ")" | "`" | null): void {
    let command = this.#begin(false);
    for (;;) {
      const char = this.#peek();
      if (char === "") {
        if (closing !== null || this.#documents.length > 0) throw new Unreadable();
        return;
      }
      if (char === closing && this.#isClosed(char)) {
        this.#at += 1;
        return;
      }
      if (char === " " || char === "\t") this.#at += 1;
      else if (this.#skip("\\\n")) continue;
      else if (char === "\n") {
        this.#at += 1;
        this.#readDocuments();
        command = this.#begin(false);
      } else if (";&|()".includes(char) && !this.#isRedirect()) {
        this.#at += 1;
        if (char === "(") this.#groups += 1;
        else if (char === ")" && this.#groups > 0) this.#groups -= 1;
        command = this.#begin(char === "|" && this.#peek() !== "|");
      } else if (char === "#") this.#skipComment();
      else if (this.#isRedirect()) this.#redirect(command);
      else command = this.#add(command, this.#word());
    }
  }

  /** A parenthesis also ends groups and patterns of `case`. */
  #isClosed(closing: string): boolean {
    return closing !== ")" || (this.#groups === 0 && this.#cases === 0);
  }

  #begin(isPiped: boolean): ShellCommand {
    const command = { words: [], hasAssignments: false, redirects: [], input: undefined, isPiped };
    this.#found.push(command);
    return command;
  }

  /** The command that the next word belongs to. */
  #add(command: ShellCommand, { word, bare }: ReadWord): ShellCommand {
    if (command.words.length === 0) {
      if (/^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/.test(bare)) {
        command.hasAssignments = true;
        return command;
      }
      if (word === bare && bare === "case") this.#cases += 1;
      if (word === bare && bare === "esac" && this.#cases > 0) this.#cases -= 1;
      if (word !== null && word === bare && keywords.has(word)) return command;
      if (word !== null && word === bare && unreadableKeywords.has(word)) throw new Unreadable();
    }
    if (word !== null && word === bare && openers.has(word)) return this.#begin(false);
    command.words.push(word);
    return command;
  }

  #isRedirect(): boolean {
    return /^(?:\d{0,3}|&|\{\w+\})(?:<|>)(?!\()/.test(this.#text.slice(this.#at, this.#at + 70));
  }

  #redirect(command: ShellCommand): void {
    const [, operator = ""] = this.#take(/(?:\d{0,3}|\{\w+\})(&>>|&>|<<<|<<-|<<|<>|>>|>\||>&|<&|<|>)/y);
    this.#take(/(?:[ \t]|\\\n)*/y);
    if (operator === "<<" || operator === "<<-") {
      const { word, bare } = this.#word();
      // The delimiter is not expanded: what it is written as, it is.
      if (word === null) throw new Unreadable();
      this.#documents.push({
        delimiter: word,
        isLiteral: word !== bare,
        isIndented: operator === "<<-",
        command,
      });
      return;
    }
    const { word } = this.#word();
    if (operator === "<<<") command.input = word;
    else if (operator.endsWith("&") && word !== null && /^(\d+|-|\d+-)$/.test(word)) return;
    else if (word !== "/dev/null") command.redirects.push(word);
  }

  #readDocuments(): void {
    for (const { delimiter, isLiteral, isIndented, command } of this.#documents.splice(0)) {
      const lines: string[] = [];
      for (;;) {
        if (this.#at >= this.#text.length) throw new Unreadable();
        const end = this.#text.indexOf("\n", this.#at);
        const line = this.#text.slice(this.#at, end === -1 ? undefined : end);
        this.#at = end === -1 ? this.#text.length : end + 1;
        const read = isIndented ? line.replace(/^\t+/, "") : line;
        if (read === delimiter) break;
        lines.push(read);
      }
      const body = lines.join("\n");
      command.input = body;
      if (isLiteral || !/[$`\\]/.test(body)) continue;
      const { word } = new Reader(`${body}"`, this.#options, this.#found, this.#depth + 1).#document();
      command.input = word;
    }
  }

  /** The body of a here-document: as between double quotes, but for these themselves. */
  #document(): ReadWord {
    const parts = new WordParts();
    while (this.#at < this.#text.length - 1) {
      if (this.#peek() === "$" || this.#peek() === "`") this.#expansion(parts, true);
      else parts.quoted(this.#next());
    }
    return parts.done(this.#options);
  }

  #word(): ReadWord {
    const parts = new WordParts();
    for (;;) {
      const char = this.#peek();
      if (char === "" || " \t\n;&|<>)".includes(char)) {
        if ((char === "<" || char === ">") && this.#peek(1) === "(") this.#process(parts);
        else if (parts.isEmpty) throw new Unreadable();
        else return parts.done(this.#options);
      } else if (char === "(") {
        // A function's name; anything else is a pattern of zsh's, which can run code.
        if (!/^\(\s*\)/.test(this.#text.slice(this.#at, this.#at + 20))) throw new Unreadable();
        return parts.done(this.#options);
      } else if (char === "\\") {
        this.#at += 1;
        if (this.#peek() === "") throw new Unreadable();
        const escaped = this.#next();
        if (escaped !== "\n") parts.quoted(escaped);
        else if (parts.isEmpty && " \t\n;&|)".includes(this.#peek() || "\n")) return { word: "", bare: "" };
      } else if (char === "'") {
        this.#at += 1;
        parts.quoted(this.#until("'"));
      } else if (char === '"') {
        this.#at += 1;
        this.#doubleQuoted(parts);
      } else if (char === "$" || char === "`") {
        this.#expansion(parts, false);
      } else parts.bare(this.#next());
    }
  }

  #doubleQuoted(parts: WordParts): void {
    parts.quoted("");
    for (;;) {
      const char = this.#peek();
      if (char === "") throw new Unreadable();
      if (char === '"') {
        this.#at += 1;
        return;
      }
      if (char === "$" || char === "`") this.#expansion(parts, true);
      else if (char === "\\" && '$`"\\\n'.includes(this.#peek(1)) && this.#peek(1) !== "") {
        this.#at += 1;
        const escaped = this.#next();
        if (escaped !== "\n") parts.quoted(escaped);
      } else {
        // History of an interactive shell; it is another line before anybody sees it here.
        parts.quoted(this.#next());
      }
    }
  }

  /** At a dollar sign or a backtick. */
  #expansion(parts: WordParts, isQuoted: boolean): void {
    if (this.#peek() === "`") {
      this.#at += 1;
      parts.unknown();
      this.#inner(this.#backticked()).list(null);
      return;
    }
    const next = this.#peek(1);
    if (next === "(") {
      parts.unknown();
      if (this.#skipArithmetic()) return;
      this.#at += 2;
      this.#substitution();
    } else if (next === "{") {
      this.#at += 2;
      parts.unknown();
      this.#parameter();
    } else if (!isQuoted && next === "'") {
      this.#at += 2;
      const text = this.#ansiQuoted();
      if (text.includes("\\")) parts.unknown();
      else parts.quoted(text);
    } else if (!isQuoted && next === '"') {
      this.#at += 2;
      this.#doubleQuoted(parts);
    } else if (/[A-Za-z0-9_@*#?$!\-[]/.test(next)) {
      // `$[1+2]` is arithmetic of old.
      if (next === "[") throw new Unreadable();
      this.#take(/\$(?:[A-Za-z_][A-Za-z0-9_]*|.)/y);
      parts.unknown();
    } else parts.quoted(this.#next());
  }

  /** Only where there can be no command in it. */
  #skipArithmetic(): boolean {
    const arithmetic = /\$\(\([\w \t+\-*/%<>=!&|^~?:,]*\)\)/y;
    arithmetic.lastIndex = this.#at;
    const found = arithmetic.exec(this.#text);
    if (found !== null) this.#at += found[0].length;
    return found !== null;
  }

  #process(parts: WordParts): void {
    this.#at += 2;
    parts.unknown();
    this.#substitution();
  }

  /** Behind `$(` or `<(`: the commands in there belong to the line. */
  #substitution(): void {
    const inner = this.#inner(this.#text.slice(this.#at));
    inner.list(")");
    this.#at += inner.#at;
  }

  /** Behind `${`: a default value can have commands in it. */
  #parameter(): void {
    const ignored = new WordParts();
    for (;;) {
      const char = this.#peek();
      if (char === "") throw new Unreadable();
      if (char === "}") {
        this.#at += 1;
        return;
      }
      // `${x@P}` and zsh's `${(e)x}` run what is in a variable.
      if (char === "@" || char === "(") throw new Unreadable();
      if (char === "$" || char === "`") this.#expansion(ignored, true);
      else if (char === "'") {
        this.#at += 1;
        this.#until("'");
      } else if (char === '"') {
        this.#at += 1;
        this.#doubleQuoted(ignored);
      } else if (char === "\\") this.#at += 2;
      else this.#at += 1;
    }
  }

  #backticked(): string {
    let text = "";
    for (;;) {
      const char = this.#peek();
      if (char === "") throw new Unreadable();
      this.#at += 1;
      if (char === "`") return text;
      if (char === "\\" && "`$\\".includes(this.#peek()) && this.#peek() !== "") text += this.#next();
      else text += char;
    }
  }

  #ansiQuoted(): string {
    let text = "";
    for (;;) {
      const char = this.#peek();
      if (char === "") throw new Unreadable();
      this.#at += 1;
      if (char === "'") return text;
      text += char;
      if (char === "\\") text += this.#next();
    }
  }

  /** In zsh at a prompt a comment is none: what is in there is read as commands as well, as far as it can be. */
  #skipComment(): void {
    const comment = this.#take(/[^\n]*/y)[0];
    const { commands } = readShellLine(comment.replace(/^#+/, ": "), this.#options);
    this.#found.push(...commands.slice(1));
  }

  #inner(text: string): Reader {
    return new Reader(text, this.#options, this.#found, this.#depth + 1);
  }

  #peek(ahead = 0): string {
    return this.#text[this.#at + ahead] ?? "";
  }

  #next(): string {
    const char = this.#peek();
    this.#at += 1;
    return char;
  }

  #skip(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #until(end: string): string {
    const found = this.#text.indexOf(end, this.#at);
    if (found === -1) throw new Unreadable();
    const text = this.#text.slice(this.#at, found);
    this.#at = found + end.length;
    return text;
  }

  #take(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) throw new Unreadable();
    this.#at += found[0].length;
    return found;
  }
}
