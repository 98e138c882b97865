/**
 * What a command runs: itself and, where it is a shell or a program that runs another (`sudo`, `env`, `xargs`), that one
 * too. Programs that run others in ways of their own (interpreters, editors) are only seen as themselves.
 */

import { readShellLine, type ShellCommand } from "./shell-lines.ts";
import type { ShellOptions, Word } from "./shell-words.ts";

export interface Invocation {
  words: Word[];
  redirects: Word[];
  /** Whether nothing but its words says what it does: no variables are set, no files redirected. */
  isPlain: boolean;
  /** Found behind a wrapper, where it may be an argument as well: rules that ask or deny see it, nothing else does. */
  isImplied: boolean;
}

export interface Invocations {
  all: Invocation[];
  isReadable: boolean;
}

const shells = new Set([
  "sh",
  "bash",
  "zsh",
  "dash",
  "ksh",
  "mksh",
  "ash",
  "fish",
  "rbash",
  "pwsh",
  "powershell",
  "cmd",
]);
/** Run the rest of their words, or one of them, as a command. */
const wrappers = new Set(
  `sudo doas su runuser pkexec env nohup nice ionice time command builtin exec timeout gtimeout setsid stdbuf xargs busybox
  toybox chroot unshare nsenter strace ltrace script watch parallel find fd flock chrt taskset setarch systemd-run ssh mosh
  docker podman nerdctl kubectl lxc noglob nocorrect repeat proxychains unbuffer rlwrap entr caffeinate xvfb-run eval trap
  source . alias hyperfine doppler direnv nix-shell uv npx bunx pnpx then - coproc start cmd.exe wsl`.split(
    /\s+/,
  ),
);
const depthMax = 8;
const wrappedWordsMax = 200;

export function programOf(word: string): string {
  const name = word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1);
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\.exe$/, "");
}

/** Only to be allowed word by word: a prefix of theirs says nothing about what is run. */
export function runsOthers(word: string): boolean {
  return shells.has(programOf(word)) || wrappers.has(programOf(word));
}

export function invocationsOf(line: string, options: ShellOptions): Invocations {
  const found: Invocations = { all: [], isReadable: true };
  readInto(found, line, { ...options, depth: 0, isImplied: false });
  return found;
}

export function invocationsOfArgv(argv: readonly string[], options: ShellOptions): Invocations {
  const found: Invocations = { all: [], isReadable: true };
  const command = {
    words: [...argv],
    hasAssignments: false,
    redirects: [],
    input: undefined,
    isPiped: false,
  };
  addCommand(found, command, { ...options, depth: 0, isImplied: false });
  return found;
}

interface Place extends ShellOptions {
  depth: number;
  isImplied: boolean;
}

function readInto(found: Invocations, line: string, place: Place): void {
  const { commands, isReadable } = readShellLine(line, place);
  if (!isReadable && place.isImplied) found.all.push(anything);
  else if (!isReadable) found.isReadable = false;
  for (const command of commands) addCommand(found, command, place);
}

function addCommand(found: Invocations, command: ShellCommand, place: Place): void {
  const { words, redirects, hasAssignments, input, isPiped } = command;
  const [first] = words;
  if (first === undefined) {
    if (redirects.length > 0)
      found.all.push({ words: [], redirects, isPlain: false, isImplied: place.isImplied });
    return;
  }
  if (place.depth > depthMax) {
    found.isReadable = false;
    return;
  }
  const isPlain = !hasAssignments && redirects.length === 0;
  const inner = { ...place, depth: place.depth + 1 };
  const program = first === null ? "" : programOf(first);
  if (shells.has(program)) {
    const script = onlyScript(words);
    if (script !== null && isPlain && input === undefined) {
      readInto(found, script, inner);
      return;
    }
    addShell(found, { words, input, isPiped }, inner);
  }
  found.all.push({ words, redirects, isPlain, isImplied: place.isImplied });
  if (wrappers.has(program)) addWrapped(found, words, inner);
}

/** `bash -lc SCRIPT` is its script. */
function onlyScript(words: readonly Word[]): string | null {
  const [, option, script, ...rest] = words;
  const isScript =
    option !== undefined && option !== null && /^-[lieux]*c$/.test(option) && rest.length === 0;
  return isScript ? (script ?? null) : null;
}

function addShell(
  found: Invocations,
  { words, input, isPiped }: Pick<ShellCommand, "words" | "input" | "isPiped">,
  place: Place,
): void {
  const rest = words.slice(1);
  const hasScript = rest.some((word) => word !== null && !/^[-+]/.test(word));
  const readsInput = input === null || (isPiped && !hasScript) || !hasScript;
  if (typeof input === "string") readInto(found, input, place);
  // What it is told over a pipe, or by what is not known yet, can be anything.
  else if (readsInput || rest.includes(null)) found.all.push(anything);
  const implied = { ...place, isImplied: true };
  for (const word of rest) if (word !== null) readInto(found, word, implied);
}

const anything: Invocation = { words: [null], redirects: [], isPlain: false, isImplied: true };

/** Every end of the words may be the command, and a word may be a line for a shell. */
function addWrapped(found: Invocations, words: readonly Word[], place: Place): void {
  const implied = { ...place, isImplied: true };
  if (words.length > wrappedWordsMax) found.isReadable = false;
  const rest = withFilled(words.slice(0, wrappedWordsMax)).slice(1);
  rest.forEach((word, index) => {
    const inner = rest.slice(index);
    found.all.push({ words: inner, redirects: [], isPlain: false, isImplied: true });
    if (word === null) return;
    if (shells.has(programOf(word)))
      addShell(found, { words: inner, input: undefined, isPiped: true }, implied);
    if (/[^\w@%+=:,./-]/.test(word)) readInto(found, word, implied);
  });
}

/** `xargs` and `parallel` put words of their input in: in the places that they are told, or at the end. */
function withFilled(words: readonly Word[]): readonly Word[] {
  const [program] = words;
  if (program == null || !["xargs", "parallel"].includes(programOf(program))) return words;
  const marks = words.flatMap((word, index) => {
    const [, attached] = /^(?:-[IiJ]|--replace=)(.+)$/.exec(word ?? "") ?? [];
    return attached ?? (/^-[IJ]$/.test(word ?? "") ? (words[index + 1] ?? []) : []);
  });
  const isFilled = (word: Word) => word === null || ["{}", ...marks].some((mark) => word.includes(mark));
  return [program, ...words.slice(1).map((word) => (isFilled(word) ? null : word)), null];
}
