/** Whether a backup is whole: its databases, every event, all content, the links of receipts. */

import { inspectStore } from "../../store/sqlite/inspect.ts";
import { scrubDirectory } from "../commands/scrub.ts";

export interface Verified {
  /** The last position of the log. */
  events: number;
  blobs: number;
  /** What is damaged or missing, one sentence each. */
  problems: string[];
}

/** Throws if a database cannot be used at all. */
export async function verifyBackup(directory: string): Promise<Verified> {
  const store = inspectStore(directory, Number.POSITIVE_INFINITY);
  if (store === null) throw new Error(`${directory} is not a backup: it has no database.`);
  const { contents, damage } = await scrubDirectory(directory);
  const problems = damage.map(({ what, where, problem }) => `${what} ${where}: ${problem}`);
  return { events: store.head, blobs: contents, problems };
}
