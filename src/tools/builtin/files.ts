/**
 * The files of the task's workspace. What agents have as `ctx.files` is what these do, so that a write of a tool is allowed,
 * approved, recorded and in the receipt like any other, and only once.
 */

import { Type } from "typebox";
import { pathCharsMax } from "../../files/safe-path.ts";
import { type FileEntry, fileBytesMax } from "../../files/workspace-files.ts";
import { defineContextTool } from "../define.ts";

/** As much of what agents are given as these need. */
export interface FilesContext {
  readonly files: {
    write(path: string, text: string): Promise<{ path: string; sha256: string; bytes: number }>;
    read(path: string): Promise<string>;
    list(path?: string): Promise<FileEntry[]>;
  };
}

const path = Type.String({
  minLength: 1,
  maxLength: pathCharsMax,
  description: "Relative to the workspace.",
});

export const filesRead = defineContextTool({
  name: "files.read",
  description: "Reads a text file of the workspace.",
  input: Type.Object({ path }),
  output: Type.Object({ text: Type.String() }),
  effect: "none",
  risk: "low",
  isOptIn: true,
  capabilities: ["files:read"],
  async runWith(ctx: FilesContext, { path }) {
    return { text: await ctx.files.read(path) };
  },
});

export const filesList = defineContextTool({
  name: "files.list",
  description: "Lists a folder of the workspace; the workspace itself when no path is given.",
  input: Type.Object({ path: Type.Optional(path) }),
  output: Type.Object({
    entries: Type.Array(
      Type.Object({ name: Type.String(), kind: Type.Enum(["file", "directory"]), size: Type.Integer() }),
    ),
  }),
  effect: "none",
  risk: "low",
  isOptIn: true,
  capabilities: ["files:read"],
  async runWith(ctx: FilesContext, { path = "" }) {
    return { entries: await ctx.files.list(path) };
  },
});

export const filesWrite = defineContextTool({
  name: "files.write",
  description: "Writes a text file of the workspace, in place of what was there.",
  input: Type.Object({ path, text: Type.String({ maxLength: fileBytesMax }) }),
  output: Type.Object({ path: Type.String(), sha256: Type.String(), bytes: Type.Integer() }),
  effect: "reversible",
  isOptIn: true,
  capabilities: ["files:write"],
  runWith: (ctx: FilesContext, { path, text }) => ctx.files.write(path, text),
});
