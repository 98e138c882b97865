/** Completion for zsh. */

import type { CommandCompletion, Expected, OptionCompletion } from "./completions.ts";
import { quoted } from "./quoted.ts";

export function zshScript(name: string, places: readonly CommandCompletion[]): string {
  return `#compdef ${name}
# Completion of ${name} for zsh. In ~/.zshrc, after compinit: source <(${name} completion zsh)

_${name}() {
  local place= word skip= index
  local -a names flags
  for (( index = 2; index < CURRENT; index++ )); do
    word=\${words[index]}
    if [[ -n $skip ]]; then skip=; continue; fi
    case "$place:$word" in
${places.flatMap(({ path, options }) => options.flatMap((option) => skipCase(path, option))).join("\n")}
    esac
    case "$place/$word" in
${places
  .slice(1)
  .map(({ path }) => `      ${quoted(path)}) place="$place/$word" ;;`)
  .join("\n")}
    esac
  done
  case "$place:\${words[CURRENT-1]}" in
${places.flatMap(({ path, options }) => options.flatMap((option) => valueCase(path, option))).join("\n")}
  esac
  case "$place" in
${places.map(placeCase).join("\n")}
  esac
}

# Loaded from fpath it is called at once; sourced, it is made known.
if [[ \${funcstack[1]} == _${name} ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function patternsOf(path: string, { flags }: OptionCompletion): string {
  return flags.map((flag) => quoted(`${path}:${flag}`)).join("|");
}

function skipCase(path: string, option: OptionCompletion): string[] {
  return option.value === null ? [] : [`      ${patternsOf(path, option)}) skip=1 ;;`];
}

function valueCase(path: string, option: OptionCompletion): string[] {
  return option.value === null ? [] : [`    ${patternsOf(path, option)}) ${given(option.value)}; return ;;`];
}

function placeCase({ path, commands, options, argument }: CommandCompletion): string {
  const flags = options.flatMap((option) => option.flags.map((flag) => described(flag, option.description)));
  const names = commands.map((command) => described(command.name, command.description));
  const words =
    names.length > 0
      ? `names=(${names.join(" ")}); _describe -t commands command names`
      : given(argument ?? "text");
  return `    ${path === "" ? "''" : quoted(path)})
      if [[ \${words[CURRENT]} == -* ]]; then flags=(${flags.join(" ")}); _describe -o -t options option flags
      else ${words}
      fi ;;`;
}

/** A word and what it means; a colon is what stands between them. */
function described(word: string, meaning: string): string {
  return quoted(`${word.replaceAll(":", "\\:")}:${meaning}`);
}

function given(expected: Expected): string {
  if (expected === "text") return ":";
  if (typeof expected === "object") return `compadd -- ${expected.choices.map(quoted).join(" ")}`;
  return expected === "file" ? "_files" : "_files -/";
}
