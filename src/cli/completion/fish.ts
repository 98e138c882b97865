/** Completion for fish. */

import type { CommandCompletion, Expected } from "./completions.ts";

export function fishScript(name: string, places: readonly CommandCompletion[]): string {
  const withValue = places.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== null)
      .flatMap(({ flags }) => flags.map((flag) => inFish(`${path}:${flag}`))),
  );
  return `# Completion of ${name} for fish. In ~/.config/fish/config.fish: ${name} completion fish | source

# Where the words before lead: the commands, each behind a slash.
function __${name}_place
    set -l place ''
    set -l skip ''
    for word in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip ''
            continue
        end
        if contains -- "$place:$word" ${withValue.join(" ")}
            set skip 1
        else if contains -- "$place/$word" ${places
          .slice(1)
          .map(({ path }) => inFish(path))
          .join(" ")}
            set place "$place/$word"
        end
    end
    echo $place
end

function __${name}_at
    test (__${name}_place) = "$argv[1]"
end

complete -c ${name} -f
${places.flatMap((place) => ofPlace(name, place)).join("\n")}
`;
}

function ofPlace(name: string, { path, commands, options, argument }: CommandCompletion): string[] {
  const here = `complete -c ${name} -n ${inFish(`__${name}_at '${path}'`)}`;
  const words = commands.length === 0 && argument !== null ? [`${here} ${given(argument)}`] : [];
  return [
    ...commands.map((command) => `${here} -a ${command.name} -d ${inFish(command.description)}`),
    ...words,
    ...options.map(({ flags, description, value }) => {
      const spelled = flags.map((flag) =>
        flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
      );
      const takes = value === null ? "" : ` -r ${given(value)}`;
      return `${here} ${spelled.join(" ")}${takes} -d ${inFish(description)}`;
    }),
  ];
}

function given(expected: Expected): string {
  if (expected === "text") return "-f";
  if (typeof expected === "object") return `-f -a ${inFish(expected.choices.join(" "))}`;
  return expected === "file" ? "-F" : "-f -a '(__fish_complete_directories)'";
}

/** A word that fish takes as it is. */
function inFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
