/** Secrets that a text gives a name: `DB_PASSWORD=…`, `"api_key": "…"`, `?access_token=…`, `--token …`, `user[password]=…` */

import {
  isPlaceholder,
  placeholder,
  placeholderPattern,
  placeholders,
  type RedactedKind,
  secretLengthMin,
} from "./kinds.ts";
import { escapeEnd, firstFrom, from, matchAt, Pieces } from "./pieces.ts";

const secretWord =
  "passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|account|private|signing|encryption|auth)[_-]?key";
const secretWords = new RegExp(secretWord, "gi");
const assignment = new RegExp(
  [
    `(${secretWord})`,
    // The rest of the identifier, which decides whether the word still means a secret.
    String.raw`([\w-]{0,40})(?![\w-])`,
    // The quote around the name, an index's bracket, a type's question mark, bold in Markdown.
    String.raw`(?:\\{0,7}["'${"`"}])?\]?[?!]?\*{0,2}`,
    "(?:",
    String.raw`[ \t]{0,16}(?::[ \t]?(?:string|str|&str)[ \t]?(?==))?(?:=>|:=|={1,3}|:|%3[AD])\*{0,2}[ \t]{0,16}`,
    String.raw`|(?<=--[\w-]{1,80})[ \t]{1,4}`,
    ")",
  ].join(""),
  "gi",
);
const openingQuote = /(?:[bfru@]{1,2}(?=["'`]))?(\\{0,7}["'`])/iy;
/** Last words of a name that make it something else: where the secret is, how long it lives, how many there are. */
const describing: ReadonlySet<string> = new Set(
  [
    "id ids name names url urls uri uris endpoint file files path paths dir type types kind count counts limit budget",
    "usage used length len size min max expires expiry ttl at in on date time version alg algorithm hash digest",
    "fingerprint policy field fields label hint ref header param arn provider issuer prefix suffix index format",
    "status error regex pattern rule input class scope scopes env var",
  ].flatMap((line) => line.split(" ")),
);
const lastWord = /(?:[A-Z]?[a-z]+|[A-Z]+)$/;
/** Tokens that page through a list or mark a place in a model's vocabulary open nothing. */
const harmlessToken =
  /(?<![a-z0-9])(?:page|next|previous|continuation|continue|sync|bos|eos|pad|unk|mask|sep|cls|stop)[_-]?$/i;
/** The same as a later word of a name: nextPageToken. */
const harmlessLaterToken = /(?<=[a-z])(?:Page|Next|Previous|Continuation|Continue|Sync)[_-]?$/;
const insidePlaceholder = /\[redacted:[a-z_]*$/;

/** The key of a step that reads a secret names it; that is no secret. */
const secretStepKey = /^secret:[A-Za-z][\w.-]{0,63}(?::\d{1,6})?$/;

export function withoutAssignedSecrets(text: string): string {
  if (secretStepKey.test(text)) return text;
  const pieces = new Pieces(text);
  for (const head of from(assignment, text, () => pieces.end)) {
    const [all, word = "", suffix = ""] = head;
    const span = assignedValue(text, head.index + all.length);
    const value = text.slice(span.start, span.end);
    const isDirectory = word.length === "pwd".length && /^(?:[/~.]|[A-Za-z]:\\)/.test(value);
    if (isDirectory || !isAssignedSecret(value, span.quoted)) continue;
    const before = text.slice(Math.max(0, head.index - nameCharsMax), head.index);
    const named = namedIn(before, word + suffix);
    if (named === null) continue;
    if (/ = $/.test(all) && text[span.end] === ";" && /^[A-Za-z_$]+[0-9]?$/.test(value)) continue;
    const end = span.quoted ? span.end : bareEnd(text, span.start);
    pieces.replace(span.start, end, placeholder(assignedKind(named)));
  }
  return pieces.join();
}

/** The word by which a name announces a secret. The first may be there by chance, inside an id that begins the name. */
function namedIn(before: string, name: string): string | null {
  for (const { 0: word, index } of name.matchAll(secretWords)) {
    const [start, suffix] = [before + name.slice(0, index), name.slice(index + word.length)];
    if (namesSecret(start.slice(-24), word, suffix) && isName(start, word, suffix)) return word;
  }
  return null;
}

function namesSecret(before: string, word: string, suffix: string): boolean {
  if (insidePlaceholder.test(before)) return false;
  const isHarmless = harmlessToken.test(before) || harmlessLaterToken.test(before);
  if (/^token$/i.test(word) && isHarmless) return false;
  // A new word begins with a separator or a capital: "tokenizer", "secretary" and "TOKENS" are other words.
  const goesOn = /^[a-z]/.test(suffix) || (/^[A-Z]/.test(suffix) && /[A-Z]$/.test(word));
  return !goesOn && !describing.has(lastWord.exec(suffix)?.[0].toLowerCase() ?? "");
}

/** Longer runs of letters and digits are data. */
const nameCharsMax = 64;
const escapes = new RegExp(escapeEnd, "g");
/** How ids of records end: a ULID. */
const ulidEnd = /(?:^|_)[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Ids, hashes and encoded bytes hold every short word by chance (`task_01…8XPWD7EG6HNH:step`), and are often followed by a
 * colon. Names are made of words: few numbers, few changes of case, and the word begins where a name or a part of it does.
 */
function isName(before: string, word: string, suffix: string): boolean {
  const left = runAtEnd(afterEscapes(before), /[\w-]/);
  if (left.length >= nameCharsMax || ulidEnd.test(left + word + suffix)) return false;
  if (isEncoded(`${runAtEnd(before, /[A-Za-z0-9+/]/)}${word}${suffix}`)) return false;
  const start = runAtEnd(left, /[A-Za-z0-9]/);
  const [end = ""] = /^[A-Za-z0-9]*/.exec(suffix) ?? [];
  // "userpassword" and "PGPASSWORD" are words that grew together; where case divides words, this one is divided too.
  const isGrown = /^[a-z]/.test(word)
    ? /[A-Za-z]$/.test(start)
    : /^[A-Z]{2}/.test(word) && /[A-Z]$/.test(start);
  if (isGrown && !(/^[a-z]/.test(word) ? /^[A-Z]?[a-z0-9]*$/ : /^[A-Z0-9]*$/).test(start)) return false;
  // "passWord" and "apiKey" have two; "pWd" is chance.
  if (wordsIn(word).length > (word.length > "pwd".length ? 2 : 1)) return false;
  const name = `${start}${word}${end}`;
  const words = wordsIn(name);
  const isWordy = words.length <= 4 || words.join("").length >= words.length * wordCharsMin;
  return isWordy && (name.match(/[0-9]+/g)?.length ?? 0) <= 1;
}

function afterEscapes(text: string): string {
  const mayHoldOne = text.includes("\\") || text.includes("%") || text.includes("\u001b");
  return mayHoldOne ? (text.split(escapes).at(-1) ?? "") : text;
}

/** The characters of a class with which a text ends. A pattern would begin at every character before them (R2). */
function runAtEnd(text: string, character: RegExp): string {
  let start = text.length;
  while (start > 0 && character.test(text[start - 1] ?? "")) start -= 1;
  return text.slice(start);
}

/** Base64, in which a slash begins no name. */
function isEncoded(text: string): boolean {
  const words = wordsIn(text);
  return text.length >= 16 && /[0-9]/.test(text) && words.join("").length < words.length * wordCharsMin;
}

/** On average, in a name of many words. */
const wordCharsMin = 3;

/** As changes of case divide them. */
function wordsIn(name: string): string[] {
  return name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
}

function assignedKind(word: string): RedactedKind {
  const name = word.toLowerCase();
  if (name.startsWith("p") && !name.startsWith("private")) return "password";
  if (name.startsWith("private") || name.startsWith("signing")) return "private_key";
  if (name === "token") return "bearer_token";
  return name === "secret" ? "secret" : "api_key";
}

/** As much of a value as is looked at to tell whether it is one; a secret is random from its first characters on. */
const looksAt = 64;

interface Span {
  start: number;
  end: number;
  quoted: boolean;
}

function assignedValue(text: string, at: number): Span {
  const opening = matchAt(openingQuote, text, at);
  if (opening === null) {
    // Only its beginning, for now: the next name may stand in the middle of it, and it would be scanned again (R2).
    const beginning = text.slice(at, at + looksAt);
    const end = /[0-9[]/.test(beginning) ? at + bareEnd(beginning, 0) : at;
    return { start: at, end, quoted: false };
  }
  const start = at + opening[0].length;
  return { start, end: quotedEnd(text, start, opening[1] ?? ""), quoted: true };
}

/**
 * Where a quoted string ends: before the quote that was opened with, or at the text's end. A quote with as many
 * backslashes before it closes (JSON inside JSON doubles them and adds one), one with more belongs to the value.
 */
export function quotedEnd(text: string, start: number, opening: string): number {
  const quote = opening.at(-1) ?? "";
  const level = opening.length - 1;
  for (let at = text.indexOf(quote, start); at !== -1; at = text.indexOf(quote, at + 1)) {
    let backslashes = 0;
    while (at - backslashes > start && text[at - backslashes - 1] === "\\") backslashes++;
    const closes = backslashes < level || backslashes % (2 * level + 2) === level;
    if (closes) return at - Math.min(backslashes, level);
  }
  return text.length;
}

/** Up to white space, a quote, a tag, an escaped end of line, or a comma, bracket or ampersand that ends an item. */
const bareStop = new RegExp(
  [
    // Not a stop, but its bracket is none either.
    placeholderPattern,
    String.raw`[\s"'${"`"}>]|<\/|\\[nrt"'${"`"}\\]|[,;)\]}](?=$|[\s"'${"`"},;)\]}\\])`,
    String.raw`[,;](?=[\w.-]{1,40}[:=])|&(?=amp;|[\w.%[\]-]{1,60}=)`,
  ].join("|"),
  "g",
);

function bareEnd(text: string, start: number): number {
  let stop = firstFrom(bareStop, text, start);
  while (stop !== null && isPlaceholder(stop[0])) stop = firstFrom(bareStop, text, bareStop.lastIndex);
  let end = stop?.index ?? text.length;
  while (end > start && ".,;:".includes(text[end - 1] ?? " ")) end--;
  return end;
}

/** Names of algorithms and types bring digits along that make no value random. */
const technicalTerms =
  /u?int(?:8|16|32|64)|float(?:32|64)|sha-?(?:1|256|384|512)|base(?:32|58|64)|utf-?(?:8|16)|md5|x509|[ex]d?25519|http2|oauth2|argon2|pbkdf2|_v[0-9]$/gi;
/** References to a value that is kept elsewhere, versions, addresses, files and names of constants. */
const referred =
  /^(?:process\.env|import\.meta|os\.environ|(?:env|vault|secrets?):|[\^~v]?[0-9]{1,5}\.[0-9]{1,5}\.[0-9]|[a-z][a-z0-9+.-]{1,20}:\/\/|[A-Z]+(?:_[A-Z]+)+(?:_?[0-9]{1,2})?$|(?:~|\.{0,2})\/[^\s]{1,200}\.[a-z]{2,5}$)/;
const expression =
  /^(?:(?:this|self|config|settings|secrets|env|vars|options|opts|ctx|context|req|request|res|response|args|params|props|state|event|data|input|result|body|headers|user|session|client)(?:\??\.|->|::)[A-Za-z_$]|[A-Za-z_$][\w$.]{0,60}\[|(?:qr)?\/[^\s]{0,60}[\\[]|[A-Za-z_$]+[0-9]?(?:(?:\??\.|->|::)[A-Za-z_$]+[0-9]?)+$)/;

export function isAssignedSecret(value: string, quoted: boolean): boolean {
  if (value.length < secretLengthMin) return false;
  // What is left around a placeholder is a piece of the secret.
  if (value.startsWith("[redacted:")) return /\w/.test(value.replace(placeholders, ""));
  const start = value.slice(0, looksAt);
  if (!isMixed(start)) return false;
  if (/[($<{]|&(?:#|lt;)/.test(start) || (quoted && /\s/.test(value))) return false;
  if (referred.test(start) || (!quoted && expression.test(start))) return false;
  return isMixed(start.replace(technicalTerms, "a"));
}

export function isMixed(text: string): boolean {
  return /[0-9]/.test(text) && /[A-Za-z\u0080-\uffff]/.test(text);
}
