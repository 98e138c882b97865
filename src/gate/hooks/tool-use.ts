/** What kind of thing a tool does, by its name and the members of its input. Nothing is allowed because a name was not known. */

import type { GateSubject } from "../decide.ts";
import { optionalText } from "./adapter.ts";
import { placesIn } from "./places.ts";

const shellTools =
  /^(bash|shell|run_shell_command|run_in_terminal|runterminalcommand|execute_command|run_command|terminal)$/i;
/** Words in names of tools that take a line for a shell. */
const shellWords = new Set(
  "bash sh zsh shell pwsh powershell cmd terminal console exec execute run command".split(" "),
);
const lineMembers = ["command", "cmd", "commandLine", "command_line", "CommandLine", "script"];
/** Where a line runs, if not where the tool works. */
const directoryMembers = ["directory", "dir_path", "cwd", "workdir", "working_directory", "workingDirectory"];
const changing = /edit|write|create|replace|patch|delete|insert|rename|move|notebook/i;
const readingWords = new Set("read view list ls grep glob search find cat".split(" "));

export function subjectOf(tool: string, input: Record<string, unknown>): GateSubject {
  const words = wordsOf(tool);
  const line = textOf(input, lineMembers);
  // A shell whose line is not there is not known to do anything harmless.
  if (shellTools.test(tool)) return shellUse(tool, line ?? "'", input);
  const { mentioned, ...places } = placesIn(input);
  const about = { ...places, ...(mentioned.length === 0 ? {} : { mentioned }) };
  if (/^mcp_/i.test(tool)) return { tool, kind: "mcp", ...about };
  if (line !== undefined && words.some((word) => shellWords.has(word))) return shellUse(tool, line, input);
  if (changing.test(tool)) return { tool, kind: "edit", ...about };
  if (places.urls.length > 0) return { tool, kind: "fetch", ...about };
  const isReading = places.paths.length > 0 && words.some((word) => readingWords.has(word));
  return { tool, kind: isReading ? "read" : "other", ...about };
}

function shellUse(tool: string, line: string, input: Record<string, unknown>): GateSubject {
  const runsIn = textOf(input, directoryMembers);
  return { tool, kind: "shell", line, ...(runsIn === undefined ? {} : { runsIn }) };
}

function textOf(input: Record<string, unknown>, names: readonly string[]): string | undefined {
  return names.flatMap((name) => optionalText(input[name]) ?? [])[0];
}

/** `ReadFile` and `read_file` have the same words. */
function wordsOf(tool: string): string[] {
  return tool.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
}
