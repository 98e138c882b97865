/** Tells when something stirs in some directories, once for changes that come together. */

import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Editors write a file in several steps. */
const calmMs = 80;

export class DirectoryWatch {
  readonly #watched = new Map<string, { watcher: FSWatcher; inode: number }>();
  readonly #onStir: () => void;
  readonly #onProblem: (problem: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onStir: () => void, onProblem: (problem: string) => void) {
    this.#onStir = onStir;
    this.#onProblem = onProblem;
  }

  /** These directories from here on, each without those in it. One that is not there yet is waited for. */
  watch(directories: Iterable<string>): void {
    const wanted = new Set([...directories].map(nearest));
    for (const [directory, { watcher, inode }] of this.#watched) {
      if (wanted.has(directory) && inodeOf(directory) === inode) continue;
      watcher.close();
      this.#watched.delete(directory);
    }
    for (const directory of wanted) if (!this.#watched.has(directory)) this.#add(directory);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const { watcher } of this.#watched.values()) watcher.close();
    this.#watched.clear();
  }

  #add(directory: string): void {
    try {
      const watcher = watch(directory, () => this.#stir());
      watcher.on("error", () => this.#stir());
      this.#watched.set(directory, { watcher, inode: inodeOf(directory) });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#onProblem(`Changes in ${directory} are not noticed: ${why}`);
    }
  }

  #stir(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onStir, calmMs);
  }
}

function nearest(directory: string): string {
  let found = directory;
  while (!existsSync(found) && dirname(found) !== found) found = dirname(found);
  return found;
}

/** A directory that was removed and made again is another one, which nobody watches. */
function inodeOf(directory: string): number {
  return statSync(directory, { throwIfNoEntry: false })?.ino ?? 0;
}
