/**
 * What the input of a tool may be about: the files and addresses in it, at any depth and under any name. Tools call the same thing by
 * many names, so a name that is not known hides nothing.
 */

import { fileURLToPath } from "node:url";

export interface Places {
  paths: string[];
  urls: string[];
  /** Short texts that may name a file: rules that ask or deny see them, nothing is allowed because of them. */
  mentioned: string[];
}

const pathMembers = new Set(
  `file_path filepath path notebook_path absolute_path relative_path target_file dir_path directory file filename files paths uri
  source destination target from to src dst dest old_path new_path root folder`.split(/\s+/),
);
/** What is written or said, in which a name of a file is only a text. */
const contentMembers = new Set(
  `content contents text new_text old_text old_string new_string old_str new_str insert_text new_source code code_edit codecontent
  prompt description explanation instruction instructions message query question body title comment summary replacement
  search todos`.split(/\s+/),
);
const textCharsMax = 4096;
/** In patches: `*** Update File: x`, `*** Move to: x`, `--- a/x`, `+++ b/x`, `rename to x`. */
const patchLines =
  /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]\/)?|(?:rename|copy) (?:from|to) )([^\t\r\n]+)/gm;

export function placesIn(input: Record<string, unknown>): Places {
  const places: Places = { paths: [], urls: [], mentioned: [] };
  for (const [name, value] of Object.entries(input)) addPlaces(places, normalName(name), value);
  return {
    paths: [...new Set(places.paths)],
    urls: [...new Set(places.urls)],
    mentioned: [...new Set(places.mentioned)],
  };
}

/** `filePath` and `file_path` are one name. */
function normalName(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

function addPlaces(places: Places, name: string, value: unknown): void {
  if (typeof value === "string") addText(places, name, value);
  else if (Array.isArray(value)) for (const item of value) addPlaces(places, name, item);
  else if (typeof value === "object" && value !== null) {
    for (const [inner, item] of Object.entries(value)) addPlaces(places, normalName(inner), item);
  }
}

function addText(places: Places, name: string, text: string): void {
  if (text === "") return;
  const isContent = contentMembers.has(name) && !pathMembers.has(name);
  if (text.includes("\n")) {
    if (!isContent) for (const [, path = ""] of text.matchAll(patchLines)) places.paths.push(path.trim());
  } else if (isContent || text.length > textCharsMax) return;
  else if (/^file:/i.test(text)) places.paths.push(pathOfUrl(text));
  else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) places.urls.push(text);
  else if (pathMembers.has(name) || /^(?:~|\.{0,2}[/\\]|\.\.$|[a-z]:[/\\])/i.test(text))
    places.paths.push(text);
  else places.mentioned.push(text);
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}
