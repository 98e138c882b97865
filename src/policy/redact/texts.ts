/** What is taken out of a text, rule by rule, and which rules a text needs at all. */

import { isAssignedSecret, quotedEnd, withoutAssignedSecrets } from "./assignments.ts";
import { isPlaceholder, placeholder, type RedactedKind } from "./kinds.ts";
import { escapeEnd, firstFrom, from, matchAt, Pieces } from "./pieces.ts";

/** Taking one secret out can lay bare the start of another; beyond this many layers somebody is playing. */
export const passesMax = 4;

interface Rule {
  readonly apply: (text: string) => string;
  /** Three characters each, in any case; a text that has none of them holds nothing for this rule. */
  readonly signs: string;
}

/** In the order they run: those that know the most about what they find come first, and name its kind. */
const rules: readonly Rule[] = [
  { apply: withoutPrivateKeys, signs: "---" },
  { apply: withoutTaggedThoughts, signs: "<th" },
  { apply: withoutWrittenThoughts, signs: "nki g_c gco f_t oft idd" },
  { apply: withoutJwkSecrets, signs: "kty" },
  { apply: withoutUrlPasswords, signs: "://" },
  { apply: withoutBearerTokens, signs: "rer" },
  { apply: withoutAuthorizations, signs: "zat" },
  { apply: withoutCookies, signs: "kie" },
  { apply: withoutJwts, signs: "eyJ" },
  {
    apply: withoutIssuedKeys,
    signs:
      "sk- hp_ ho_ hu_ hs_ hr_ ub_ glp gld glr glc glf gls xox xap k_l k_t whs pm_ hf_ SG. e_a e_k e_s e_t kia sia aiz",
  },
  // Of the joined words, the place where "key" is joined on.
  { apply: withoutAssignedSecrets, signs: "ssw ssp pwd ecr tok _ke -ke pik ssk ntk tek ngk onk thk" },
];

/**
 * For every three characters, five bits of each, the rules they are a sign of, one bit each. So it costs a nanosecond
 * or two per character to learn which rules may have work to do; for most texts, none.
 */
const rulesBySign = signTable();

function signTable(): Uint16Array {
  const table = new Uint16Array(1 << 15);
  for (const [n, { signs }] of rules.entries()) {
    for (const sign of signs.split(" ")) {
      const hash = withNext(withNext(withNext(0, sign, 0), sign, 1), sign, 2);
      table[hash] = (table[hash] ?? 0) | (1 << n);
    }
  }
  return table;
}

// The lower five bits of a letter are the same in both cases.
function withNext(hash: number, text: string, at: number): number {
  return ((hash << 5) | (text.charCodeAt(at) & 31)) & 0x7fff;
}

/** The rules that may have work to do in a text, one bit each. */
export function rulesFor(text: string): number {
  let found = 0;
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = withNext(hash, text, at);
    found |= rulesBySign[hash] ?? 0;
  }
  return found;
}

/** The text without secrets: the rules are applied until nothing changes. */
export function searched(text: string, selected: number): string {
  let before = text;
  for (let pass = 0; pass < passesMax; pass++) {
    const after = applyRules(before, selected);
    if (after === before) break;
    before = after;
  }
  return before;
}

function applyRules(text: string, selected: number): string {
  let rest = text;
  for (const [n, { apply }] of rules.entries()) if (selected & (1 << n)) rest = apply(rest);
  return rest;
}

const keyBegin = /-{4,5} ?BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
const keyEnd = /-{4,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}/g;
/** After the first line comes a line, or the key itself; code that only mentions the line goes on with a quote. */
const keyBody = /\s|\\+[nr]|[A-Za-z0-9]|[^A-Za-z0-9]{1,24}[A-Za-z0-9+/]{16}/y;

function withoutPrivateKeys(text: string): string {
  if (!text.includes("PRIVATE KEY")) return text;
  const pieces = new Pieces(text);
  for (const begin of from(keyBegin, text, () => pieces.end)) {
    const bodyAt = begin.index + begin[0].length;
    if (matchAt(keyBody, text, bodyAt) === null) continue;
    const end = firstFrom(keyEnd, text, bodyAt);
    // Cut off in the middle, it is a key all the same.
    const endAt = end === null ? text.length : end.index + end[0].length;
    if (end !== null && isTemplate(text.slice(bodyAt, end.index))) pieces.keep(endAt);
    else pieces.replace(begin.index, endAt, placeholder("private_key"));
  }
  return pieces.join();
}

/** Code that puts a key together has a hole where the key goes. */
function isTemplate(body: string): boolean {
  return /\$\{|%s|\{\{/.test(body) && !/[A-Za-z0-9+/]{24}/.test(body);
}

const thoughtTags = [
  { open: /<think(?:\s[^<>]{0,200})?>/gi, close: /<\/think>/gi },
  { open: /<thinking(?:\s[^<>]{0,200})?>/gi, close: /<\/thinking>/gi },
];
/** `split("<think>")[1].split("</think>")`, or the two tags named in prose between backticks. */
const betweenMentions = /^(["'`])[),;\]\s][^<]{0,80}\1$/;

function withoutTaggedThoughts(text: string): string {
  if (!/<think/i.test(text)) return text;
  return thoughtTags.reduce((rest, { open, close }) => withoutTagged(rest, open, close), text);
}

function withoutTagged(text: string, openTag: RegExp, closeTag: RegExp): string {
  const pieces = new Pieces(text);
  for (const open of from(openTag, text, () => pieces.end)) {
    const start = open.index + open[0].length;
    const close = firstFrom(closeTag, text, start);
    // An answer that was cut off while the model still thought is all thought; elsewhere a lone tag is a mention.
    if (close === null && text.slice(0, open.index).trim() !== "") break;
    const end = close?.index ?? text.length;
    const thought = text.slice(start, end);
    if (thought.trim() === "" || isPlaceholder(thought) || betweenMentions.test(thought)) pieces.keep(end);
    else pieces.replace(start, end, placeholder("hidden_reasoning"));
    if (close === null) break;
  }
  return pieces.join();
}

const writtenThought =
  /(\\{0,7})"(reasoning_?content|chain_?of_?thought|hidden_?reasoning|thinking)\1"\s{0,8}:\s{0,8}\1"/gi;
/** `"thinking": "Thinking…"` is a label of a user interface. */
const writtenThinkingMin = 16;

/** A provider's answer as JSON inside a text. */
function withoutWrittenThoughts(text: string): string {
  const pieces = new Pieces(text);
  for (const name of from(writtenThought, text, () => pieces.end)) {
    const start = name.index + name[0].length;
    const end = quotedEnd(text, start, `${name[1] ?? ""}"`);
    const thought = text.slice(start, end);
    const isLabel = name[2]?.toLowerCase() === "thinking" && thought.length < writtenThinkingMin;
    if (thought === "" || isLabel || isPlaceholder(thought)) pieces.keep(end);
    else pieces.replace(start, end, placeholder("hidden_reasoning"));
  }
  return pieces.join();
}

const jwkSecret =
  /(\\{0,7}"(?:d|p|q|dp|dq|qi|k)\\{0,7}"\s{0,8}:\s{0,8}\\{0,7}")[A-Za-z0-9_-]{8,}(?=\\{0,7}")/g;

function withoutJwkSecrets(text: string): string {
  return text.includes('"kty') ? text.replace(jwkSecret, `$1${placeholder("private_key")}`) : text;
}

// The password may hold an @ that somebody forgot to encode; the last one before the host's end counts.
const urlPassword = /(:\/\/[^\s/?#:@"'`<>[]{0,256}:)([^\s/?#"'`<>]{1,1024})@/g;

function withoutUrlPasswords(text: string): string {
  if (!text.includes("@")) return text;
  return text.replace(urlPassword, (all, before: string, password: string) =>
    /^\$\w+$|\{/.test(password) || isPlaceholder(password)
      ? all
      : `${before}${placeholder("url_credentials")}@`,
  );
}

// RFC 6750, 2.1, and as it looks in a URL or after a colon.
const bearer = /(\bbearer(?::?[ \t]{1,8}|%20|\+))([A-Za-z0-9._~+/-]{8,}=*)(["'`]?)/gi;
/** "Bearer authentication", "bearer tokens/cookies", "bearer token-based", and `YOUR_TOKEN` in instructions. */
const notBearer = /^(?:[A-Za-z]?[a-z]+(?:\/[a-z]+)*[./-]?|tokens?\b[a-z/-]*\.?|[A-Z]+(?:_[A-Z]+)+)$/;

function withoutBearerTokens(text: string): string {
  return text.replace(bearer, (all, before: string, token: string, quote: string) => {
    // A challenge names parameters: Bearer resource_metadata="https://…".
    const isParameter = token.endsWith("=") && quote !== "";
    return isParameter || notBearer.test(token) ? all : `${before}${placeholder("bearer_token")}${quote}`;
  });
}

const authorization = new RegExp(
  [
    // A comma separates name and value only where both are quoted.
    String.raw`(authorization(?:\\{0,7}["'${"`"}]\]?[ \t]{0,8}(?:=>|[:=,])|\]?[ \t]{0,8}(?:=>|[:=]))[ \t]{0,8}(?:\\{0,7}["'${"`"}])?)`,
    String.raw`(?:([a-z][\w-]{1,24})([ \t]{1,8}))?`,
    String.raw`([^\s"'${"`"}\\,;<>(){}$[\]]{6,})(?=($|[\r\n"'${"`"}\\])?)`,
  ].join(""),
  "gi",
);
const authorizationSchemes: ReadonlyMap<string, RedactedKind> = new Map([
  ["basic", "password"],
  ["bearer", "bearer_token"],
  ["token", "bearer_token"],
  ["apikey", "api_key"],
]);
const notAuthorization =
  /^(?:authentication|authorization|credentials?|tokens?|realm=|[A-Z]+(?:_[A-Z]+)+)\.?$/i;

function withoutAuthorizations(text: string): string {
  return text.replace(authorization, (all, before: string, ...groups: (string | undefined)[]) => {
    const [scheme = "", space = "", value = "", lineEnd] = groups;
    const kind = authorizationSchemes.get(scheme.toLowerCase());
    if (!isAuthorization(kind, value, lineEnd !== undefined)) return all;
    return `${before}${scheme}${space}${placeholder(kind ?? "secret")}`;
  });
}

/** A password may be a plain word; as the last of its line it is no prose. */
function isAuthorization(kind: RedactedKind | undefined, value: string, lineEnds: boolean): boolean {
  if (kind === undefined) return isAssignedSecret(value, false);
  return lineEnds && kind !== "api_key" ? !notAuthorization.test(value) : !notBearer.test(value);
}

const cookies = /\bcookie["']?[ \t]{0,4}:[ \t]{0,4}["']?[^\r\n"'\\]{1,4096}/gi;
const cookieValue = /=([^;,\s]{8,})/g;
const cookieAttribute = /(?:path|domain|expires|max-age|samesite)$/i;

function withoutCookies(text: string): string {
  return text.replace(cookies, (line) =>
    line.replace(cookieValue, (all, value: string, at: number) =>
      cookieAttribute.test(line.slice(Math.max(0, at - 8), at)) || !isAssignedSecret(value, false)
        ? all
        : `=${placeholder("secret")}`,
    ),
  );
}

/**
 * A key begins where a word begins. Not after a hyphen or an underscore, or encrypted content in base64url would be
 * full of keys; but after an escape (`\n`, `%3D`, the end of a terminal colour), whose last letter is not the word's.
 * The patterns look back only once they have found a prefix, which is rare.
 */
const wordStart = String.raw`(?:^|[^\w-]|${escapeEnd})`;
const base64Start = String.raw`(?:^|[^\w+/-]|${escapeEnd})`;

// Three parts; five when encrypted (RFC 7516, 3.1), of which the second may be empty.
const jwt = new RegExp(String.raw`eyJ(?<=${wordStart}eyJ)[\w-]{5,}\.[\w-]*\.[\w-]{4,}(?:\.[\w-]+){0,2}`, "g");

function withoutJwts(text: string): string {
  return text.replace(jwt, placeholder("jwt"));
}

const issuedKey = new RegExp(
  [
    "(sk-|gh[pousr]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|soat)-|xox[abeprs]-|xapp-|[sr]k_(?:live|test)_|whsec_",
    String.raw`|npm_|hf_|bridle_(?:admin|key|signing|secret|token)_)(?<=${wordStart}\1)([\w-]{8,})`,
    String.raw`|(SG\.)(?<=${wordStart}\3)([\w-]{8,}(?:\.[\w-]{4,})?)`,
    String.raw`|(AKIA|ASIA|AIza)(?<=${base64Start}\5)([\w-]{8,})`,
  ].join(""),
  "g",
);

/** Keys whose issuer marks them with a prefix. */
function withoutIssuedKeys(text: string): string {
  return text.replace(issuedKey, (all, ...groups: (string | undefined)[]) => {
    const prefix = groups[0] ?? groups[2] ?? groups[4] ?? "";
    const rest = groups[1] ?? groups[3] ?? groups[5] ?? "";
    return isIssued(prefix, rest) ? placeholder("api_key") : all;
  });
}

/** Identifiers share some prefixes (`npm_lifecycle_event`, `hf_hub_download`, `sk-folding-cube`); keys are random. */
function isIssued(prefix: string, rest: string): boolean {
  switch (prefix) {
    case "npm_":
    case "hf_":
      return (
        !rest.includes("_") && (/[A-Z]|[a-z]{16}/.test(rest) || (rest.length >= 10 && /[0-9]/.test(rest)))
      );
    case "AKIA":
      return /^[A-Z0-9]{8}/.test(rest);
    case "ASIA":
      // A continent, too: a name in capitals has no digits.
      return /^(?:[A-Z0-9]{16}$|[A-Z]{0,32}[0-9][A-Z0-9]*$)/.test(rest);
    case "sk-":
      if (/^(?:test|live|proj|ant|or|svcacct|admin)[-_]|secret|canary/.test(rest)) return true;
      // The dots of a well-known spinner.
      return looksRandom(rest) && !/^(?:circle|cube)[0-9]{1,2}$/.test(rest);
    default:
      return looksRandom(rest) || !/^(?:bridle_|github_pat_|[sr]k_)/.test(prefix) || rest.includes("canary");
  }
}

function looksRandom(text: string): boolean {
  return /[0-9A-Z]|[a-z]{16}/.test(text);
}
