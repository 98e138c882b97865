/** What kind of thing a tool does, by its name and the members of its input. Nothing is allowed because a name was not known. */

import type { GateSubject } from "../decide.ts";

const shellTools =
  /^(bash|shell|run_shell_command|run_in_terminal|runterminalcommand|execute_command|run_command|terminal)$/i;
const changing = /edit|write|create|replace|patch|delete|insert|rename|move|notebook/i;
const pathMembers = [
  "file_path",
  "path",
  "filePath",
  "notebook_path",
  "absolute_path",
  "target_file",
  "dir_path",
  "directory",
];

export function subjectOf(tool: string, input: Record<string, unknown>): GateSubject {
  const line = input.command;
  if (shellTools.test(tool)) {
    if (typeof line === "string") return { tool, kind: "shell", line };
    // A shell whose line is not there is not known to do anything harmless.
    return { tool, kind: "shell", line: "'" };
  }
  if (/^mcp_/i.test(tool)) return { tool, kind: "mcp", ...placesIn(input) };
  const places = placesIn(input);
  if (places.urls.length > 0) return { tool, kind: "fetch", ...places };
  if (changing.test(tool)) return { tool, kind: "edit", ...places };
  return { tool, kind: places.paths.length > 0 ? "read" : "other", ...places };
}

function placesIn(input: Record<string, unknown>): { paths: string[]; urls: string[] } {
  const named = pathMembers.map((name) => input[name]);
  const listed = [input.files, input.paths, input.urls, input.edits].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  const nested = listed.flatMap((item) =>
    typeof item === "object" && item !== null ? Object.values(item) : [item],
  );
  const texts = [...named, ...nested].filter((value) => typeof value === "string");
  const urls = [input.url, ...texts].filter(
    (value) => typeof value === "string" && /^[a-z][a-z0-9+.-]*:\/\//i.test(value),
  );
  const paths = texts.filter((text) => text !== "" && !urls.includes(text) && text.length < 4096);
  // Of an edit only what names a file is a path; a text that is none matches no rule about one by chance.
  return {
    paths: Array.isArray(input.edits) ? named.filter((value) => typeof value === "string") : paths,
    urls: urls.map(String),
  };
}
