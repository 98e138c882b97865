/** The files of the rehearsal's workspaces: texts in memory, under the names and within the bounds that files on disk have. */

import { hash } from "node:crypto";
import { FileRefused, parsePath } from "../files/safe-path.ts";
import {
  type FileEntry,
  type FileListing,
  type FileText,
  fileBytesMax,
  type LocatedDirectory,
  WorkspaceFiles,
  type WorkspacePlace,
  type WrittenFile,
} from "../files/workspace-files.ts";

const noProgram = "Programs cannot run in a rehearsal: its files are in memory only.";

export class RehearsedFiles extends WorkspaceFiles {
  readonly #texts = new Map<string, string>();

  constructor(texts: Readonly<Record<string, string>>) {
    super({ directory: null });
    for (const [path, text] of Object.entries(texts)) this.#put(path, text);
  }

  /** All of them, by path. */
  get texts(): Record<string, string> {
    return Object.fromEntries([...this.#texts].sort());
  }

  override async read(_place: WorkspacePlace, path: string): Promise<FileText | FileListing> {
    const name = parsePath(path).join("/");
    const content = this.#texts.get(name);
    if (content !== undefined) return textOf(content);
    const entries = this.#entriesIn(name);
    if (entries.length === 0 && name !== "")
      throw new FileRefused("absent", "There is nothing at this path.");
    return { kind: "directory", entries };
  }

  override async write(_place: WorkspacePlace, path: string, content: string): Promise<WrittenFile> {
    const before = this.#put(path, content);
    const { bytes, sha256 } = textOf(content);
    return { path, sha256, bytes, before_sha256: before === undefined ? null : textOf(before).sha256 };
  }

  override async locate(): Promise<LocatedDirectory> {
    throw new FileRefused("kind", noProgram);
  }

  #put(path: string, text: string): string | undefined {
    const names = parsePath(path);
    const name = names.join("/");
    if (!text.isWellFormed()) throw new FileRefused("text", "The content is not well-formed Unicode text.");
    if (Buffer.byteLength(text) > fileBytesMax)
      throw new FileRefused("size", `A file has at most ${fileBytesMax} bytes.`);
    const isDirectory = names.length === 0 || this.#entriesIn(name).length > 0;
    const isInFile = names.some((_, n) => n > 0 && this.#texts.has(names.slice(0, n).join("/")));
    if (isDirectory || isInFile)
      throw new FileRefused("kind", "A file cannot be a directory, nor in a file.");
    const before = this.#texts.get(name);
    this.#texts.set(name, text);
    return before;
  }

  #entriesIn(directory: string): FileEntry[] {
    const prefix = directory === "" ? "" : `${directory}/`;
    const entries = new Map<string, FileEntry>();
    for (const [path, text] of this.#texts) {
      if (!path.startsWith(prefix)) continue;
      const [name = "", ...rest] = path.slice(prefix.length).split("/");
      const isFile = rest.length === 0;
      entries.set(name, {
        name,
        kind: isFile ? "file" : "directory",
        size: isFile ? Buffer.byteLength(text) : 0,
      });
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function textOf(content: string): FileText {
  const sha256 = hash("sha256", content, "hex");
  return { kind: "file", content, bytes: Buffer.byteLength(content), sha256 };
}
