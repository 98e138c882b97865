/** One word of a shell's line, put together from its quoted and bare parts. */

/** Null when it is only known once the shell runs it. */
export type Word = string | null;

export interface ShellOptions {
  home: string;
}

export interface ReadWord {
  word: Word;
  /** As it is without what was quoted, in whose places are NULs. */
  bare: string;
}

export class WordParts {
  #text = "";
  #bare = "";
  #isKnown = true;
  #isBegun = false;

  get isEmpty(): boolean {
    return !this.#isBegun;
  }

  bare(text: string): void {
    this.#isBegun = true;
    this.#text += text;
    this.#bare += text;
  }

  quoted(text: string): void {
    this.#isBegun = true;
    this.#text += text;
    this.#bare += "\0".repeat(Math.max(1, text.length));
  }

  unknown(): void {
    this.#isBegun = true;
    this.#isKnown = false;
    this.#bare += "\0";
  }

  done({ home }: ShellOptions): ReadWord {
    const [text, bare] = [this.#text, this.#bare];
    const isPattern = /[*?^]|\[.+\]|\{[^}]*(?:,|\.\.)[^}]*\}/.test(bare);
    // A line from before, at a prompt, and the place of a program, in zsh.
    const isExpanded = /![^\s=\0]/.test(bare) || bare.startsWith("=");
    if (!this.#isKnown || isPattern || isExpanded) return { word: null, bare };
    if (/^~(\/|$)/.test(bare)) return { word: home + text.slice(1), bare };
    return { word: bare.startsWith("~") ? null : text, bare };
  }
}
