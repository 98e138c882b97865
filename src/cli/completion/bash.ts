/** Completion for bash, from 3.2 on. */

import type { CommandCompletion, Expected, OptionCompletion } from "./completions.ts";
import { quoted } from "./quoted.ts";

export function bashScript(name: string, places: readonly CommandCompletion[]): string {
  return `# Completion of ${name} for bash. In ~/.bashrc: source <(${name} completion bash)

_${name}_give() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done
}

# Gives where the words before lead: the commands, each behind a slash.
_${name}_place() {
  local place= word skip=
  for word in "$@"; do
    if [[ -n $skip ]]; then skip=; continue; fi
    case "$place:$word" in
${lines(flagsWithValue(places), (pattern) => `      ${pattern}) skip=1 ;;`)}
    esac
    case "$place/$word" in
${lines(
  places.slice(1).map(({ path }) => path),
  (path) => `      ${quoted(path)}) place="$place/$word" ;;`,
)}
    esac
  done
  printf '%s' "$place"
}

_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" place
  COMPREPLY=()
  place=$(_${name}_place "\${COMP_WORDS[@]:1:COMP_CWORD-1}")
  case "$place:$previous" in
${places
  .flatMap(({ path, options }) => options.flatMap((option) => valueCase(name, path, option)))
  .join("\n")}
  esac
  case "$place" in
${places.map((place) => placeCase(name, place)).join("\n")}
  esac
}

complete -F _${name} ${name}
`;
}

function lines<T>(items: readonly T[], line: (item: T) => string): string {
  return items.map(line).join("\n");
}

function flagsWithValue(places: readonly CommandCompletion[]): string[] {
  return places.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== null)
      .flatMap(({ flags }) => flags.map((flag) => quoted(`${path}:${flag}`))),
  );
}

function valueCase(name: string, path: string, { flags, value }: OptionCompletion): string[] {
  if (value === null) return [];
  const patterns = flags.map((flag) => quoted(`${path}:${flag}`)).join("|");
  return [`    ${patterns}) ${given(name, value)}; return ;;`];
}

function placeCase(name: string, { path, commands, options, argument }: CommandCompletion): string {
  const flags = options.flatMap((option) => option.flags).join(" ");
  const names = commands.map((command) => command.name).join(" ");
  const words =
    commands.length > 0 ? given(name, { choices: names.split(" ") }) : given(name, argument ?? "text");
  return `    ${path === "" ? "''" : quoted(path)})
      if [[ $current == -* ]]; then _${name}_give < <(compgen -W ${quoted(flags)} -- "$current")
      else ${words}
      fi ;;`;
}

/** What gives the words that are expected. */
function given(name: string, expected: Expected): string {
  if (expected === "text") return ":";
  if (typeof expected === "object") {
    return `_${name}_give < <(compgen -W ${quoted(expected.choices.join(" "))} -- "$current")`;
  }
  const kind = expected === "file" ? "-f" : "-d";
  return `compopt -o filenames 2>/dev/null; _${name}_give < <(compgen ${kind} -- "$current")`;
}
