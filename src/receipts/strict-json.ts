/**
 * Reads JSON that can be read in only one way. Parsers differ on a name that comes twice, on `1.0`, on `-0` and on
 * needless escapes: such a document could show one thing to a person and another to the program that checks its hash.
 * White space and the order of members are free.
 */

/** Of bytes, UTF-8 that is not well-formed is refused too: a lenient decoder would hide what was changed. */
export function parseStrictJson(text: string | Uint8Array): unknown {
  return parse(text, isCanonical);
}

/**
 * The same for what others wrote in their own spelling: numbers and escapes are as they like, but no name comes twice and
 * no character is half of one.
 */
export function parseUnambiguousJson(text: string | Uint8Array): unknown {
  return parse(text, isAnything);
}

/** For text that has been parsed: throws, naming the place, when a name comes twice or a character is half of one. */
export function requireUnambiguous(text: string): void {
  checkTokens(text, isAnything);
}

/** How many strings a text has that was parsed, names included. A value with fewer has lost some: a name came twice. */
export function countStrings(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', endOfString(text, at))) count += 1;
  return count;
}

function parse(text: string | Uint8Array, isSpelled: Spelling): unknown {
  if (typeof text !== "string") return parse(decodeUtf8(text), isSpelled);
  const value: unknown = JSON.parse(text);
  const escaped = checkTokens(text, isSpelled);
  return escaped.length === 0 ? value : parseEscapedNames(text, escaped);
}

/** Whether a token may be written as it is, when this is its canonical form. */
type Spelling = (token: string, canonical: string) => boolean;

const isCanonical: Spelling = (token, canonical) => token === canonical;
const isAnything: Spelling = () => true;

interface Name {
  at: number;
  text: string;
}

/**
 * The engine can take a name that begins with an escape for one it met before: after `{"\\":1}` it reads `{"\n":1}` as
 * the former (nodejs/node#63785). So names with escapes are read one by one, and stand-ins without any with the rest.
 */
function parseEscapedNames(text: string, escaped: Name[]): unknown {
  const mark = crypto.randomUUID();
  const meant = new Map<string, string>();
  let rest = 0;
  let plain = "";
  for (const { at, text: name } of escaped) {
    const standIn = `${mark}${meant.size}`;
    meant.set(standIn, JSON.parse(name));
    plain += `${text.slice(rest, at)}"${standIn}"`;
    rest = at + name.length;
  }
  return renamed(JSON.parse(plain + text.slice(rest)), meant);
}

function renamed(value: unknown, meant: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, meant));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [meant.get(name) ?? name, renamed(inner, meant)]),
  );
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError("The document is not well-formed UTF-8");
  }
}

/**
 * The text has been parsed, so its grammar is right; what is left to look at is how it was spelled.
 * Returns the names with an escape.
 */
function checkTokens(text: string, isSpelled: Spelling): Name[] {
  const escaped: Name[] = [];
  /** The names met so far in each object that is still open, the innermost last. */
  const open: Set<string>[] = [];
  let at = 0;
  while (at < text.length) {
    const first = text.charAt(at);
    if (first === '"') {
      const end = endOfString(text, at);
      const string = text.slice(at, end);
      const canonical = canonicalString(string, at);
      if (!isSpelled(string, canonical)) fail(`is not in canonical form: ${quoted(canonical)}`, string, at);
      if (isName(text, end)) {
        checkName(canonical, open.at(-1), at);
        if (string.includes("\\")) escaped.push({ at, text: string });
      }
      at = end;
    } else if (isDigit(first) || first === "-") {
      const end = endOfNumber(text, at);
      const number = text.slice(at, end);
      // A number that this language cannot hold exactly comes back with other digits.
      const canonical = String(Number(number));
      if (!isSpelled(number, canonical)) fail(`is not in canonical form: ${canonical}`, number, at);
      at = end;
    } else {
      if (first === "{") open.push(new Set());
      if (first === "}") open.pop();
      at += 1;
    }
  }
  return escaped;
}

function canonicalString(string: string, at: number): string {
  if (!string.isWellFormed()) fail("has a lone surrogate", string, at);
  if (!string.includes("\\")) return string;
  const value: string = JSON.parse(string);
  if (!value.isWellFormed()) fail("has a lone surrogate", string, at);
  return JSON.stringify(value);
}

/** In canonical form, names are equal exactly when their texts are. */
function checkName(name: string, names: Set<string> | undefined, at: number): void {
  if (names?.has(name)) fail("comes twice in one object", name, at);
  names?.add(name);
}

/** What is quoted from the document, at most, in a message. */
const quotedLengthMax = 60;

function fail(problem: string, token: string, at: number): never {
  throw new SyntaxError(`${quoted(token)} at position ${at} ${problem}`);
}

/** A part of a token could be the recognizable half of something secret; it is quoted whole or not at all. */
function quoted(token: string): string {
  return token.length > quotedLengthMax ? "A long token" : token;
}

/** Just behind the closing quote: the first one that no odd number of backslashes stands before. */
function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

const backslash = 0x5c;

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === backslash) before -= 1;
  return (at - before) % 2 === 1;
}

function isName(text: string, from: number): boolean {
  let at = from;
  while (isWhiteSpace(text.charAt(at))) at += 1;
  return text[at] === ":";
}

function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (isDigit(text.charAt(at)) || isNumberSign(text.charAt(at))) at += 1;
  return at;
}

function isDigit(char: string): boolean {
  return char >= "0" && char <= "9";
}

function isNumberSign(char: string): boolean {
  return char === "." || char === "e" || char === "E" || char === "+" || char === "-";
}

function isWhiteSpace(char: string): boolean {
  return char === " " || char === "\n" || char === "\r" || char === "\t";
}
