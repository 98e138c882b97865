/** Text from agents on a terminal: nothing in it is obeyed, nothing in it can pretend to be something else, lines fit. */

/** They turn the order of what is read around, which can make an approval look like another one. */
const directionMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text with its lines and without control characters. */
export function plainText(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll("\t", "  ")
    .replaceAll(/(?!\n)\p{Cc}+/gu, " ")
    .replaceAll(directionMarks, "");
}

/** The same as one line of at most that many columns. */
export function plainLineOf(text: string, columns: number): string {
  const line = plainText(text).replaceAll(/\s+/g, " ").trim();
  if (widthOf(line) <= columns) return line;
  let kept = "";
  let width = 1;
  for (const character of line) {
    width += widthOf(character);
    if (width > columns) break;
    kept += character;
  }
  return `${kept}…`;
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

/** Lines of at most that many columns, broken between words where there are any. */
export function wrap(text: string, columns: number): string[] {
  return plainText(text)
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
