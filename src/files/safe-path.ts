/** Which paths a caller may name: relative, plain, the same on every system. Whether they lead outside is asked of the disk. */

export const pathCharsMax = 1024;
const nameBytesMax = 255;
/** Ours, for what is being written. */
export const temporaryPrefix = ".bridle-";
/** Names that are devices on some systems, with any ending. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** A path, a file or what is in it was refused; the message says what to do. */
export class FileRefused extends Error {
  override name = "FileRefused";
  readonly why: "path" | "absent" | "kind" | "text" | "size" | "disk";

  constructor(why: FileRefused["why"], message: string) {
    super(message);
    this.why = why;
  }
}

/** The names that a path is made of; none for the root itself. */
export function parsePath(path: string): string[] {
  if (path === "" || path === ".") return [];
  const problem = problemWith(path);
  if (problem !== null) throw new FileRefused("path", `A path ${problem}.`);
  return path.split("/");
}

function problemWith(path: string): string | null {
  if (path.length > pathCharsMax) return `has at most ${pathCharsMax} characters`;
  if (!path.isWellFormed()) return "is well-formed Unicode text";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(path)) return "has no control characters";
  if (path.includes("\\")) return "has / between its names, no backslash";
  if (path.startsWith("/")) return "is relative to the workspace: it does not begin with /";
  for (const name of path.split("/")) {
    const problem = problemWithName(name);
    if (problem !== null) return problem;
  }
  return null;
}

function problemWithName(name: string): string | null {
  if (name === "") return "has a name between two /, and does not end with /";
  if (name === "." || name === "..") return "has no . or .. in it";
  if (Buffer.byteLength(name) > nameBytesMax) return `has names of at most ${nameBytesMax} bytes`;
  if (deviceName.test(name)) return "has no name that is a device on some systems, such as con or nul";
  if (name.toLowerCase().startsWith(temporaryPrefix))
    return `has no name that begins with ${temporaryPrefix}`;
  return null;
}
