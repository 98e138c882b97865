/**
 * Whether a rule matches an invocation: surely, possibly, or not. A rule that allows must match surely, word by word. One that
 * asks or denies also matches what may turn out to be meant: another spelling of a program, options in another order or form,
 * words that are only known later.
 */

import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { hostsIn, isHostLike } from "./hosts.ts";
import { type Invocation, programOf, runsOthers } from "./invocations.ts";
import { escaped, matchesPath, realPathOf } from "./paths.ts";
import { type GateRisk, type GateRule, gateRisks } from "./policy.ts";
import type { Word } from "./shell-words.ts";

/** What is to be decided about: one invocation of a command, or one use of a tool. */
export interface Subject {
  tool: string;
  kind: string;
  invocation: Invocation | null;
  /** Of tools that name them. */
  paths: readonly string[];
  /** Of tools, for rules that ask or deny: texts that may be paths. */
  mentioned: readonly string[];
  hosts: readonly string[];
  risk: GateRisk;
  /** Null where a command before may have changed it. */
  cwd: string | null;
}

export function ruleMatches(rule: GateRule, subject: Subject): boolean {
  const isStrict = rule.action === "allow";
  if (isStrict && subject.invocation !== null && !isPlain(subject.invocation)) return false;
  if (rule.isKnownOnly === true && subject.invocation?.words[0] === null) return false;
  return (
    matchesTool(rule, subject, isStrict) &&
    matchesArgv(rule, subject, isStrict) &&
    matchesPaths(rule, subject, isStrict) &&
    matchesHosts(rule, subject, isStrict) &&
    matchesRisk(rule, subject, isStrict)
  );
}

function isPlain({ isPlain: plain, isImplied, words }: Invocation): boolean {
  return plain && !isImplied && !words.includes(null);
}

function matchesTool({ match: { tool } }: GateRule, subject: Subject, isStrict: boolean): boolean {
  if (tool === undefined) return true;
  return [tool].flat().some((name) => {
    const pattern = new RegExp(`^${name.split("*").map(escaped).join(".*")}$`, isStrict ? "su" : "siu");
    return pattern.test(subject.tool) || pattern.test(subject.kind);
  });
}

function matchesArgv(
  { match: { argv, exact = false } }: GateRule,
  { invocation }: Subject,
  isStrict: boolean,
): boolean {
  if (argv === undefined) return true;
  if (invocation === null) return false;
  return prefixesOf(argv).some((wanted) =>
    isStrict ? isPrefix(wanted, invocation.words, exact) : mayBegin(wanted, invocation.words),
  );
}

function prefixesOf(argv: readonly (string | string[])[]): string[][] {
  const lists = argv.filter((each) => typeof each !== "string");
  return lists.length > 0 ? lists : [argv.filter((each) => typeof each === "string")];
}

/** Word by word. What runs other programs is only the same as a whole. */
function isPrefix(wanted: readonly string[], words: readonly Word[], isExact: boolean): boolean {
  const [program = ""] = wanted;
  const isWhole = isExact || runsOthers(program);
  if (isWhole && wanted.length !== words.length) return false;
  return wanted.every((word, index) => words[index] === word);
}

/** Options may be anywhere and in other forms; between other words only options and their values may be. */
function mayBegin(wanted: readonly string[], words: readonly Word[]): boolean {
  const [program = "", ...rest] = wanted;
  const [first, ...others] = words;
  if (first === undefined) return false;
  // It may be the program, or vanish, or be more than one word.
  if (first === null) return true;
  if (programOf(first) !== programOf(program)) return false;
  const [options, plain] = [rest.filter(isOption), rest.filter((word) => !isOption(word))];
  return options.every((option) => hasOption(others, option)) && hasInOrder(plain, others);
}

function isOption(word: string): boolean {
  return /^[-+]./.test(word);
}

function hasOption(words: readonly Word[], option: string): boolean {
  if (words.includes(null)) return true;
  const given = words.filter((word) => word !== null);
  if (given.some((word) => same(word, option) || word.startsWith(`${option}=`))) return true;
  const letters = new Set(given.filter((word) => /^-[^-]/.test(word)).flatMap((word) => [...word.slice(1)]));
  // `-f` is mostly `--f…`: who asks about the one means the other.
  if (option.startsWith("--")) {
    return letters.has(option.charAt(2)) || given.some((word) => isShortFor(word, option));
  }
  const isLong = option.length === 2 && given.some((word) => word.startsWith(`--${option.slice(1)}`));
  return isLong || [...option.slice(1)].every((letter) => letters.has(letter));
}

/** Long options can be abbreviated, `--forc`. */
function isShortFor(word: string, option: string): boolean {
  const [name = ""] = word.split("=");
  return name.length > 2 && name.startsWith("--") && option.startsWith(name);
}

function hasInOrder(wanted: readonly string[], words: readonly Word[]): boolean {
  if (wanted.length === 0) return true;
  let next = 0;
  let mayBeValue = false;
  for (const word of words) {
    if (word === null) return true;
    const expected = wanted[next];
    if (expected !== undefined && same(word, expected)) {
      next += 1;
      if (next === wanted.length) return true;
      mayBeValue = false;
    } else if (isOption(word)) mayBeValue = word !== "--" && !word.includes("=");
    else if (mayBeValue) mayBeValue = false;
    else return false;
  }
  return false;
}

function same(one: string, other: string): boolean {
  return one === other || one.normalize("NFKC").toLowerCase() === other.normalize("NFKC").toLowerCase();
}

function matchesPaths(
  { match: { paths }, root, isKnownOnly }: GateRule,
  subject: Subject,
  isStrict: boolean,
): boolean {
  if (paths === undefined) return true;
  const patterns = [paths].flat().map((pattern) => absolutePattern(pattern, root));
  const { found, isComplete } = pathsOf(subject, isStrict);
  const isWithin = (path: string) => {
    const forms = [path, realPathOf(path)];
    const fits = (form: string) => patterns.some((pattern) => matchesPath(pattern, form, !isStrict));
    return isStrict ? forms.every(fits) : forms.some(fits);
  };
  if (isStrict) return isComplete && found.length > 0 && found.every(isWithin);
  return (!isComplete && isKnownOnly !== true) || found.some(isWithin);
}

function absolutePattern(pattern: string, root: string): string {
  if (pattern === "~" || pattern.startsWith("~/")) return join(homedir(), pattern.slice(1));
  // A pattern without a place is meant everywhere: `.env`, `*.pem`.
  if (!pattern.startsWith("./") && !isAbsolute(pattern) && !pattern.startsWith("**")) return `/**/${pattern}`;
  return pattern.startsWith("**") ? `/${pattern}` : resolve(root, pattern);
}

/** What may be a path in it. A strict rule's words before the arguments are no paths of a command; here every word is looked at. */
function pathsOf(
  { invocation, paths, mentioned, cwd }: Subject,
  isStrict: boolean,
): { found: string[]; isComplete: boolean } {
  if (invocation === null) {
    const isComplete = cwd !== null || paths.every((path) => isAbsolute(path));
    // Some tools know the home directory by its sign, and some do not.
    const named = (isStrict ? paths : [...paths, ...mentioned]).flatMap((path) => [path, fromHome(path)]);
    return { found: named.map((path) => resolve(cwd ?? "/", path)), isComplete };
  }
  const words = [...invocation.words.slice(1), ...invocation.redirects];
  const named = words
    .filter((word) => word !== null)
    .flatMap((word) => (isStrict ? strictPaths(word) : loosePaths(word)));
  const isComplete = !words.includes(null) && (cwd !== null || named.every((word) => isAbsolute(word)));
  return { found: named.map((word) => resolve(cwd ?? "/", word)), isComplete };
}

function strictPaths(word: string): string[] {
  return isOption(word) && !word.includes("/") && !word.includes("=") ? [] : [word.replace(/^[^=/]*=/, "")];
}

/** `--file=/etc/passwd`, `@/etc/passwd`, `if=/dev/sda`, `-I/usr/include`, `host:/etc/passwd`. */
function loosePaths(word: string): string[] {
  const parts = [word, ...word.split(/[=@:,]/).slice(1)];
  const slash = word.indexOf("/");
  if (slash > 0) parts.push(word.slice(slash));
  return parts.filter((part) => part !== "").map(fromHome);
}

function fromHome(path: string): string {
  return /^~(\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path;
}

function matchesHosts({ match: { hosts } }: GateRule, subject: Subject, isStrict: boolean): boolean {
  if (hosts === undefined) return true;
  const patterns = [hosts].flat().map((host) => host.toLowerCase());
  const { invocation } = subject;
  const words = invocation === null ? [] : invocation.words.slice(1);
  const known = words.filter((word) => word !== null);
  const found = [...subject.hosts, ...known.flatMap((word) => hostsIn(word, isStrict))];
  const fits = (host: string) => patterns.some((pattern) => isHostLike(host, pattern));
  if (isStrict) return found.length > 0 && !words.includes(null) && found.every(fits);
  return words.includes(null) || found.some(fits);
}

function matchesRisk({ match: { risk } }: GateRule, subject: Subject, isStrict: boolean): boolean {
  if (risk === undefined) return true;
  const [given, bound] = [gateRisks.indexOf(subject.risk), gateRisks.indexOf(risk)];
  return isStrict ? given <= bound : given >= bound;
}
