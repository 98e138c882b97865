/**
 * Takes what looks like a credential, and what a model thought in private, out of texts and values before they are
 * written, answered or logged: the log is for ever. Ordinary prose and code come back as they were.
 */

// Invariants
//   R1  Redacting twice gives what redacting once gave; a placeholder is never taken for a secret.
//   R2  Time grows with the length of the text, whatever the text is: every quantifier in a pattern is bounded or
//       is followed by something it cannot match itself, and a scan never starts again inside what it has passed.
//   R3  What needs no change is given back as it is, the very same object.

import { isMixed } from "./assignments.ts";
import {
  isPlaceholder,
  placeholder,
  placeholderPattern,
  type RedactedKind,
  secretLengthMin,
} from "./kinds.ts";
import type { SearchBudget } from "./search-budget.ts";
import { passesMax, rulesFor, searched } from "./texts.ts";

/** Keys come from callers, so what is remembered about them must not grow with what they send. */
const rememberedKeysMax = 4096;
const rememberedKeyLengthMax = 128;

const nothing = /(?!)/;

/** What a member's name says about its value. */
type Role = RedactedKind | "maybe_token" | "maybe_reasoning" | null;

/** An exact value. One that is a number is secret where a number stands too. */
export type Secret = string | number;

interface Key {
  readonly scrubbed: string;
  readonly role: Role;
}

export class Redactor {
  #given: readonly Secret[] = [];
  #secrets: readonly string[] = [];
  #numbers: ReadonlySet<unknown> = new Set();
  #secretsOrPlaceholders = nothing;
  readonly #keys: Map<string, Key>;
  #budget: SearchBudget | null = null;

  /**
   * The exact values are secret wherever they occur (the administrator's key, say), also as they look inside JSON or
   * a URL. Values shorter than 8 characters are ignored.
   */
  constructor(secrets: readonly Secret[] = [], keys: Map<string, Key> = new Map()) {
    this.#keys = keys;
    if (secrets.length > 0) this.#take(secrets);
  }

  /** The same, but leaves texts beyond the budget for another thread; see there. */
  within(budget: SearchBudget): Redactor {
    const metered = new Redactor([], this.#keys);
    metered.#given = this.#given;
    metered.#secrets = this.#secrets;
    metered.#numbers = this.#numbers;
    metered.#secretsOrPlaceholders = this.#secretsOrPlaceholders;
    metered.#budget = budget;
    return metered;
  }

  #take(secrets: readonly Secret[]): void {
    this.#given = secrets;
    this.#numbers = new Set(secrets.filter((secret) => typeof secret === "number"));
    const spellings = secrets
      .map(String)
      .filter((secret) => secret.length >= secretLengthMin)
      .flatMap((secret) => [
        secret,
        inJson(secret),
        inJson(inJson(secret)),
        inJson(inJson(inJson(secret))),
        encodeURIComponent(secret.toWellFormed()),
      ]);
    // The longest first: one secret may be the beginning of another.
    this.#secrets = [...new Set(spellings)].sort((a, b) => b.length - a.length);
    // Placeholders are passed over, or a secret such as "redacted" would eat them (R1).
    const patterns = [placeholderPattern, ...this.#secrets.map((secret) => escaped(secret))];
    this.#secretsOrPlaceholders = new RegExp(patterns.join("|"), "g");
  }

  /** From now on these are secret too. */
  add(more: readonly Secret[]): void {
    this.#take([...this.#given, ...more]);
    this.#keys.clear();
  }

  /** The same, and more exact values. */
  with(more: readonly Secret[]): Redactor {
    const redactor = new Redactor([...this.#given, ...more]);
    redactor.#budget = this.#budget;
    return redactor;
  }

  text(text: string): string {
    if (text.length < secretLengthMin) return text;
    const selected = rulesFor(text);
    if (selected === 0 && !this.#holdsExactSecret(text)) return text;
    let before = text;
    for (let pass = 0; pass < passesMax; pass++) {
      const rest = this.#withoutExactSecrets(before);
      const after = this.#budget?.search(rest, selected) ?? searched(rest, selected);
      if (!this.#holdsExactSecret(after)) return after;
      before = after;
    }
    return before;
  }

  /** Strings at any depth, the names of members, and whatever stands under a name that announces a secret. */
  value<T>(value: T): T {
    return this.#walk(value) as T;
  }

  /** How many characters at the end may be the beginning of a secret: of a text that is still growing, or was broken off. */
  openEnd(text: string): number {
    return this.#secrets.reduce((longest, secret) => {
      for (let length = Math.min(secret.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(secret.slice(0, length))) return length;
      }
      return longest;
    }, 0);
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
    if (typeof value === "number") return this.#numbers.has(value) ? placeholder("secret") : value;
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
    if (isWorthwhile && this.#budget?.isExceeded !== true) this.#keys.set(name, key);
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

/** As it looks inside a JSON string. */
function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escaped(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
