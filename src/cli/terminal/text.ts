/**
 * Text from outside on a terminal: nothing in it is obeyed, nothing in it can pretend to be something else, lines fit. All text that
 * others wrote goes through `escapeControls`, itself or in one of the functions below.
 */

/**
 * What would move the cursor, turn the direction of reading, or not be seen. Line ends are kept; whoever wants one line says so. What
 * only says how the pictures beside it look is kept too.
 */
const controls =
  /(?<!\p{Extended_Pictographic})\ufe0f|[^\P{Cc}\n]|(?<!\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?)\u200d|\u200d(?!\p{Extended_Pictographic})|(?![\ufe0f\u200d])[\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The same text, with all such characters spelled out. */
export function escapeControls(text: string): string {
  return text
    .replaceAll(/\r\n/g, "\n")
    .replaceAll("\t", "    ")
    .replaceAll(controls, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** On one line of at most that many columns. */
export function oneLine(text: string, columns = Number.POSITIVE_INFINITY): string {
  const line = escapeControls(text.replaceAll(/\s+/g, " ").trim());
  if (line.length <= columns / 2 || widthOf(line) <= columns) return line;
  let kept = "";
  let width = 1;
  for (const character of line) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
}

/** JSON of the same value, spelled so that no terminal obeys what is in it. */
export function escapedJson(value: unknown, indent?: number): string {
  return escapedJsonText(JSON.stringify(value, null, indent));
}

/** The same for what is JSON already. */
export function escapedJsonText(json: string): string {
  return json.replaceAll(controls, (character) =>
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
  const width = Math.max(20, columnsHere() - gutter.length - 1);
  return escapeControls(text)
    .split("\n")
    .flatMap((line) => broken(line, width))
    .map((line) => `${gutter}${line}\n`)
    .join("");
}

/** Whether a text is one line, and stays one behind this many columns. */
export function fitsBehind(text: string, used: number): boolean {
  const line = escapeControls(text);
  return !line.includes("\n") && used + widthAtMost(line) < columnsHere();
}

function columnsHere(): number {
  // A terminal may not know either, and say 0.
  return process.stdout.columns || columnsDefault;
}

/** Broken by us, since a terminal would go on at the edge, outside of the bar. */
function broken(line: string, width: number): string[] {
  const parts: string[] = [];
  let part = "";
  let used = 0;
  for (const character of line) {
    const wide = widthAtMost(character);
    if (used + wide > width) {
      parts.push(part);
      [part, used] = ["", 0];
    }
    part += character;
    used += wide;
  }
  return [...parts, part];
}

/** Whatever is not plain may be twice as wide, on a terminal of another language. */
function widthAtMost(text: string): number {
  let width = 0;
  for (const character of text) width += character <= "~" ? 1 : 2;
  return width;
}

/** A fingerprint as people compare it: groups of four, eight to a line. */
export function inFours(hex: string): string {
  const groups = hex.match(/.{1,4}/g) ?? [];
  const lines = [groups.slice(0, 8), groups.slice(8)].filter(({ length }) => length > 0);
  return lines.map((line) => `    ${line.join(" ")}\n`).join("");
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const joined = /\p{M}|\u200b|\u200d|\ufe0f/u;

/** How many columns a text without control characters takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += joined.test(character) ? 0 : wide.test(character) ? 2 : 1;
  return width;
}

/** Filled up with spaces to that many columns. */
export function padded(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/** Lines of at most that many columns, broken between words where there are any. */
export function wrap(text: string, columns: number): string[] {
  return escapeControls(text)
    .split("\n")
    .flatMap((line) => wrapLine(line.trimEnd(), Math.max(columns, 2)));
}

function wrapLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  // What follows a mark of a list, or is indented, stays below its beginning.
  const [lead = ""] = /^\s*(?:(?:[-*•]|\d{1,3}[.)])\s+)?/.exec(line) ?? [];
  const isShort = widthOf(lead) < columns / 2;
  const indent = isShort ? " ".repeat(widthOf(lead)) : "";
  const lines: string[] = [];
  let current = isShort ? lead : "";
  let isFresh = true;
  const breakLine = () => {
    lines.push(current.trimEnd());
    current = indent;
    isFresh = true;
  };
  for (const word of line.slice(isShort ? lead.length : 0).split(/(?<=\s)/)) {
    if (!isFresh && widthOf(current) + widthOf(word.trimEnd()) > columns) breakLine();
    for (const character of word) {
      if (widthOf(current) + widthOf(character) > columns && !/\s/.test(character)) breakLine();
      current += character;
      isFresh = false;
    }
  }
  return [...lines, current.trimEnd()];
}
