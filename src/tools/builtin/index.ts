/** The tools that come along. A persona has one of them only if its list of tools names it. */

import type { AnyTool } from "../tool.ts";
import { type FilesContext, filesList, filesRead, filesWrite } from "./files.ts";
import { filesSearch } from "./files-search.ts";
import { httpGet, httpPost } from "./http.ts";

export { type CommandOptions, commandTool } from "./command.ts";
export { CommandRefused } from "./restricted-process.ts";
export type { FilesContext };

/** Without `command.run`, which the operator makes. */
export const builtInTools: AnyTool<FilesContext>[] = [
  httpGet,
  httpPost,
  filesRead,
  filesList,
  filesSearch,
  filesWrite,
];
