/** docs/reference/cli.md: every command with its options, made from the commands themselves. */

import type { Argument, Command, Option } from "commander";
import { exitCodes } from "./exit-codes.ts";

export function commandReference(program: Command): string {
  const groups = new Map<string, Command[]>();
  for (const command of program.commands) {
    const heading = command.helpGroup();
    groups.set(heading, [...(groups.get(heading) ?? []), command]);
  }
  const parts = [...groups].flatMap(([heading, commands]) => [
    `## ${heading.replace(/:$/, "")}`,
    ...commands.flatMap((command) => sections(command, program.name())),
  ]);
  return `# The commands of \`${program.name()}\`

A flag beats the environment. Results go to standard output, in words or, with \`--json\`, as JSON; everything else goes to standard error, errors as one
line, or with \`--json\` as an object \`{ "error": { "code", "message" } }\`. Colours are for terminals only, and not where \`NO_COLOR\` is set. Names
can be completed: \`bridle completion --help\`.

A command that talks to a server finds it by \`--url\`, or by the address that a server keeps in its data directory (\`--data\`, or what
\`bridle.config.ts\` says), and takes the key from there too.

## Exit codes

| code | what it means |
| --- | --- |
${Object.values(exitCodes)
  .map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  .join("\n")}

${parts.join("\n\n")}
`;
}

function sections(command: Command, path: string): string[] {
  const name = `${path} ${command.name()}`;
  const usage = [name, ...command.registeredArguments.map(spelled)].join(" ");
  const hasOwn = command.commands.length === 0;
  const own = [
    `### ${name}`,
    command.description(),
    ...(hasOwn
      ? [`\`\`\`text\n${usage} [options]\n\`\`\``, ...argumentLines(command), ...optionTable(command)]
      : []),
    ...examples(command),
  ];
  return [own.join("\n\n"), ...command.commands.flatMap((one) => sections(one, name))];
}

function spelled(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function argumentLines({ registeredArguments }: Command): string[] {
  const told = registeredArguments.filter(({ description }) => description !== "");
  if (told.length === 0) return [];
  return [
    told.map((one) => `- \`${spelled(one)}\`: ${escaped(one.description)}${choicesOf(one)}`).join("\n"),
  ];
}

/** The same in many commands, and told once for all of them. */
const settingsPage = "[settings](settings.md)";
const settingsMin = 20;

function optionTable(command: Command): string[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  if (options.length === 0) return [];
  const isServing = options.filter(({ envVar }) => envVar !== undefined).length >= settingsMin;
  const listed = isServing ? options.filter(({ envVar }) => envVar === undefined) : options;
  const rows = listed.map((option) => {
    const variable = option.envVar === undefined ? "" : `\`${option.envVar}\``;
    return `| \`${option.flags}\` | ${variable} | ${defaultOf(option)} | ${escaped(option.description)}${choicesOf(option)} |`;
  });
  const table = ["| option | environment | default | what |", "| --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
  if (!isServing) return [table];
  return [`All ${settingsPage} are options.`, ...(rows.length === 0 ? [] : [table])];
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription !== undefined) return defaultValueDescription;
  const isNothing = defaultValue === undefined || (typeof defaultValue === "object" && defaultValue !== null);
  return isNothing || typeof defaultValue === "boolean" ? "" : `\`${String(defaultValue)}\``;
}

function choicesOf({ argChoices }: { argChoices?: readonly string[] | undefined }): string {
  return argChoices === undefined ? "" : `: ${argChoices.map((choice) => `\`${choice}\``).join(", ")}`;
}

/** What stands below the options when help is asked for. */
function examples(command: Command): string[] {
  const all = textOfHelp(command);
  const after = all.slice(all.indexOf(command.helpInformation()) + command.helpInformation().length).trim();
  return after === "" ? [] : [`\`\`\`text\n${after}\n\`\`\``];
}

function textOfHelp(command: Command): string {
  let text = "";
  const before = command.configureOutput();
  const writeOut = (part: string) => {
    text += part;
  };
  command.configureOutput({ ...before, writeOut, getOutHelpWidth: () => 80, getOutHasColors: () => false });
  command.configureHelp({ ...command.configureHelp(), helpWidth: 80 }).outputHelp();
  return text;
}

/** A bar would end the cell of a table. */
function escaped(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
