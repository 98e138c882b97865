/**
 * Takes what looks like a credential, and what a model thought in private, out of texts and values before they are
 * written, answered or logged: the log is for ever. Ordinary prose and code come back as they were.
 */

// Invariants
//   R1  Redacting twice gives what redacting once gave; a placeholder is never taken for a secret.
//   R2  Time grows with the length of the text, whatever the text is: every quantifier in a pattern is bounded or
//       is followed by something it cannot match itself, and a scan never starts again inside what it has passed.
//   R3  What needs no change is given back as it is, the very same object.

const kinds = [
  "private_key",
  "bearer_token",
  "api_key",
  "jwt",
  "password",
  "secret",
  "url_credentials",
  "hidden_reasoning",
] as const;

/** The kinds of things that are taken out. */
export type RedactedKind = (typeof kinds)[number];

/** What stands in its place, e.g. "[redacted:bearer_token]". */
export function placeholder(kind: RedactedKind): string {
  return `[redacted:${kind}]`;
}

const placeholderPattern = String.raw`\[redacted:(?:${kinds.join("|")})\]`;
const placeholders = new RegExp(placeholderPattern, "g");
const placeholderHere = new RegExp(placeholderPattern, "y");

/** The kinds whose placeholders occur in a text, for receipts, which list what was left out. */
export function redactedKindsIn(text: string): RedactedKind[] {
  const found = new Set(text.match(placeholders));
  return kinds.filter((kind) => found.has(placeholder(kind)));
}

/** Nothing shorter is taken for a secret; real ones are longer, and shorter words would tear up ordinary text. */
const secretLengthMin = 8;
/** Taking one secret out can lay bare the start of another; beyond this many layers somebody is playing. */
const passesMax = 4;
/** Keys come from callers, so what is remembered about them must not grow with what they send. */
const rememberedKeysMax = 4096;
const rememberedKeyLengthMax = 128;

/** What a member's name says about its value. */
type Role = RedactedKind | "maybe_token" | "maybe_reasoning" | null;

interface Key {
  readonly scrubbed: string;
  readonly role: Role;
}

export class Redactor {
  readonly #given: readonly string[];
  readonly #secrets: readonly string[];
  readonly #secretsOrPlaceholders: RegExp;
  readonly #keys = new Map<string, Key>();

  /**
   * The exact values are secret wherever they occur (the administrator's key, say), also as they look inside JSON or
   * a URL. Values shorter than 8 characters are ignored.
   */
  constructor(secrets: readonly string[] = []) {
    this.#given = secrets;
    const spellings = secrets
      .filter((secret) => secret.length >= secretLengthMin)
      .flatMap((secret) => [
        secret,
        JSON.stringify(secret).slice(1, -1),
        encodeURIComponent(secret.toWellFormed()),
      ]);
    // The longest first: one secret may be the beginning of another.
    this.#secrets = [...new Set(spellings)].sort((a, b) => b.length - a.length);
    // Placeholders are passed over, or a secret such as "redacted" would eat them (R1).
    const patterns = [placeholderPattern, ...this.#secrets.map((secret) => escaped(secret))];
    this.#secretsOrPlaceholders = new RegExp(patterns.join("|"), "g");
  }

  /** The same, and more exact values. */
  with(more: readonly string[]): Redactor {
    return new Redactor([...this.#given, ...more]);
  }

  text(text: string): string {
    if (text.length < secretLengthMin) return text;
    const selected = rulesFor(text);
    if (selected === 0 && !this.#holdsExactSecret(text)) return text;
    let before = text;
    for (let pass = 0; pass < passesMax; pass++) {
      const after = applyRules(this.#withoutExactSecrets(before), selected);
      if (after === before) break;
      before = after;
    }
    return before;
  }

  /** Strings at any depth, the names of members, and whatever stands under a name that announces a secret. */
  value<T>(value: T): T {
    return this.#walk(value) as T;
  }

  #holdsExactSecret(text: string): boolean {
    return this.#secrets.some((secret) => text.includes(secret));
  }

  #withoutExactSecrets(text: string): string {
    if (!this.#holdsExactSecret(text)) return text;
    return text.replace(this.#secretsOrPlaceholders, (found) =>
      isPlaceholder(found) ? found : placeholder("secret"),
    );
  }

  #walk(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return mapItems(value, (item) => this.#walk(item));
    return isPlainObject(value) ? this.#members(value) : value;
  }

  #members(object: Readonly<Record<string, unknown>>): unknown {
    const isThought = typeof object.type === "string" && thoughtTypes.has(object.type);
    const isJwk = typeof object.kty === "string";
    const names = Object.keys(object);
    let copy: Map<string, unknown> | null = null;
    let copies = 1;
    for (const name of names) {
      const { scrubbed, role } = this.#key(name);
      const before = object[name];
      let after: unknown;
      if (isThought && thoughtMembers.has(name)) after = this.#walk(hidden(before));
      else if (isJwk && jwkSecretMembers.has(name)) after = replaced(before, "private_key");
      else after = this.#member(role, before);
      if (copy === null && (scrubbed !== name || !Object.is(after, before))) {
        copy = new Map(names.slice(0, names.indexOf(name)).map((earlier) => [earlier, object[earlier]]));
      }
      let free = scrubbed;
      // Two names that were secrets of one kind must not become one member. Counting on, and not from 2 each time,
      // keeps this linear however many there are.
      while (copy?.has(free)) free = `${scrubbed}#${++copies}`;
      copy?.set(free, after);
    }
    if (copy === null) return object;
    // Not by assignment: a member may be called "__proto__".
    const result = Object.fromEntries(copy);
    return Object.getPrototypeOf(object) === null ? Object.setPrototypeOf(result, null) : result;
  }

  #member(role: Role, value: unknown): unknown {
    if (role === null) return this.#walk(value);
    if (role === "maybe_token") {
      const isToken = typeof value === "string" && value.length >= secretLengthMin && isMixed(value);
      return isToken ? replaced(value, "bearer_token") : this.#walk(value);
    }
    if (role === "hidden_reasoning") return this.#walk(hidden(value));
    if (role === "maybe_reasoning") {
      return typeof value === "string" ? replaced(value, "hidden_reasoning") : this.#walk(value);
    }
    if (typeof value === "string") return replaced(value, role);
    // Headers that may occur twice, Set-Cookie above all, come as a list.
    if (Array.isArray(value)) return mapItems(value, (item) => this.#member(role, item));
    return this.#walk(value);
  }

  #key(name: string): Key {
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const key = {
      scrubbed: this.text(name),
      role: roles.get(name.toLowerCase().replace(/[-_]/g, "")) ?? null,
    };
    const isWorthwhile = this.#keys.size < rememberedKeysMax && name.length <= rememberedKeyLengthMax;
    if (isWorthwhile) this.#keys.set(name, key);
    return key;
  }
}

// Values

const roles: ReadonlyMap<string, Role> = new Map<string, Role>([
  ["password", "password"],
  ["passwd", "password"],
  ["secret", "secret"],
  ["clientsecret", "secret"],
  ["apikey", "api_key"],
  ["xapikey", "api_key"],
  ["accesstoken", "bearer_token"],
  ["refreshtoken", "bearer_token"],
  ["authtoken", "bearer_token"],
  ["idtoken", "bearer_token"],
  ["privatekey", "private_key"],
  ["authorization", "bearer_token"],
  ["proxyauthorization", "bearer_token"],
  ["cookie", "secret"],
  ["setcookie", "secret"],
  ["reasoningcontent", "hidden_reasoning"],
  ["chainofthought", "hidden_reasoning"],
  ["hiddenreasoning", "hidden_reasoning"],
  // As an object it is the setting that asks a model to think.
  ["thinking", "maybe_reasoning"],
  // A parser has tokens too: only what looks random goes.
  ["token", "maybe_token"],
]);

/** The parts of a model's answer that are its private thoughts. Their `summary` was written to be shown. */
const thoughtTypes: ReadonlySet<string> = new Set(["thinking", "redacted_thinking", "reasoning"]);
const thoughtMembers: ReadonlySet<string> = new Set([
  "thinking",
  "text",
  "data",
  "content",
  "encrypted_content",
]);
/** RFC 7517 and RFC 7518, 6.2.2, 6.3.2 and 6.4.1: the private half of a signing key, or the whole of a shared one. */
const jwkSecretMembers: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "k"]);

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Like `map`, but gives the same array back when no item changed. */
function mapItems(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (const [n, before] of items.entries()) {
    const after = change(before);
    if (Object.is(after, before)) continue;
    copy ??= items.slice();
    copy[n] = after;
  }
  return copy ?? items;
}

function replaced(value: unknown, kind: RedactedKind): unknown {
  if (typeof value !== "string" || value === "" || isPlaceholder(value)) return value;
  return placeholder(kind);
}

/** Every string in a thought, whatever its shape, so that a reader still finds the shape. */
function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return mapItems(value, hidden);
  if (!isPlainObject(value)) return replaced(value, "hidden_reasoning");
  const entries = Object.entries(value);
  const after = entries.map(([name, member]) => [name, name === "type" ? member : hidden(member)] as const);
  return after.every(([, member], n) => Object.is(member, entries[n]?.[1]))
    ? value
    : Object.fromEntries(after);
}

function escaped(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

function isPlaceholder(text: string): boolean {
  placeholderHere.lastIndex = 0;
  return placeholderHere.test(text) && placeholderHere.lastIndex === text.length;
}

// Texts

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
function rulesFor(text: string): number {
  let found = 0;
  let hash = 0;
  for (let at = 0; at < text.length; at++) {
    hash = withNext(hash, text, at);
    found |= rulesBySign[hash] ?? 0;
  }
  return found;
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
const escapeEnd = String.raw`\\[nrtbf]|\\u[0-9a-f]{4}|%[0-9A-Fa-f]{2}|\u001b\[[0-9;]{0,12}m`;
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

// Assignments: `DB_PASSWORD=…`, `"api_key": "…"`, `?access_token=…`, `--token …`, `user[password]=…`

const assignment = new RegExp(
  [
    "(passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|account|private|signing|encryption|auth)[_-]?key)",
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
  /(?:page|next|previous|continuation|continue|sync|bos|eos|pad|unk|mask|sep|cls|stop)[_-]?$/i;
const insidePlaceholder = /\[redacted:[a-z_]*$/;

function withoutAssignedSecrets(text: string): string {
  const pieces = new Pieces(text);
  for (const head of from(assignment, text, () => pieces.end)) {
    const [all, word = "", suffix = ""] = head;
    const span = assignedValue(text, head.index + all.length);
    const value = text.slice(span.start, span.end);
    const isDirectory = word.length === "pwd".length && /^(?:[/~.]|[A-Za-z]:\\)/.test(value);
    if (isDirectory || !isAssignedSecret(value, span.quoted)) continue;
    if (!namesSecret(text.slice(Math.max(0, head.index - 24), head.index), word, suffix)) continue;
    if (/ = $/.test(all) && text[span.end] === ";" && /^[A-Za-z_$]+[0-9]?$/.test(value)) continue;
    const end = span.quoted ? span.end : bareEnd(text, span.start);
    pieces.replace(span.start, end, placeholder(assignedKind(word)));
  }
  return pieces.join();
}

function namesSecret(before: string, word: string, suffix: string): boolean {
  if (insidePlaceholder.test(before)) return false;
  if (/^token$/i.test(word) && harmlessToken.test(before)) return false;
  // A new word begins with a separator or a capital: "tokenizer", "secretary" and "TOKENS" are other words.
  const goesOn = /^[a-z]/.test(suffix) || (/^[A-Z]/.test(suffix) && /[A-Z]$/.test(word));
  return !goesOn && !describing.has(lastWord.exec(suffix)?.[0].toLowerCase() ?? "");
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
function quotedEnd(text: string, start: number, opening: string): number {
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

function isAssignedSecret(value: string, quoted: boolean): boolean {
  if (value.length < secretLengthMin) return false;
  // What is left around a placeholder is a piece of the secret.
  if (value.startsWith("[redacted:")) return /\w/.test(value.replace(placeholders, ""));
  const start = value.slice(0, looksAt);
  if (!isMixed(start)) return false;
  if (/[($<{]|&(?:#|lt;)/.test(start) || (quoted && /\s/.test(value))) return false;
  if (referred.test(start) || (!quoted && expression.test(start))) return false;
  return isMixed(start.replace(technicalTerms, "a"));
}

function isMixed(text: string): boolean {
  return /[0-9]/.test(text) && /[A-Za-z\u0080-\uffff]/.test(text);
}

// Scanning

/** A text with some spans replaced, from left to right. */
class Pieces {
  readonly #text: string;
  #pieces: string[] = [];
  #copied = 0;
  /** Everything before is settled. */
  end = 0;

  constructor(text: string) {
    this.#text = text;
  }

  keep(end: number): void {
    this.end = end;
  }

  replace(start: number, end: number, by: string): void {
    this.#pieces.push(this.#text.slice(this.#copied, start), by);
    this.#copied = end;
    this.end = end;
  }

  join(): string {
    return this.#copied === 0 ? this.#text : this.#pieces.join("") + this.#text.slice(this.#copied);
  }
}

/** Like `matchAll`, but leaps over what was settled in the meantime. */
function* from(pattern: RegExp, text: string, settled: () => number): Generator<RegExpExecArray> {
  let at = 0;
  for (let found = firstFrom(pattern, text, at); found !== null; found = firstFrom(pattern, text, at)) {
    at = found.index + found[0].length;
    yield found;
    at = Math.max(at, settled());
  }
}

function firstFrom(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** For sticky patterns. */
const matchAt = firstFrom;
