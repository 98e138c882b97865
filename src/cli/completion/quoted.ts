/** A word that a shell takes as it is. Not for fish, which lets a backslash count inside. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
