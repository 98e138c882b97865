/**
 * The master key, which the data keys of vaults are wrapped with, and those before it that something may still be wrapped
 * with. It is the operator's, from the environment, or one of our own in a file that only its owner can read, made when
 * the first vault is. The file has a key a line, the one in use first.
 */

import { readPrivateFile, writePrivateFile } from "./private-file.ts";
import { keyed, type MasterKey, newMasterKey, parseMasterKey } from "./vault-crypto.ts";

/** There is no master key to work with, and why. */
export class NoMasterKey extends Error {
  override name = "NoMasterKey";
}

type KeptKey = MasterKey & { text: string };

export interface MasterKeyOptions {
  /** Null keeps them in memory only. */
  file: string | null;
  /** The operator's own keys, the one in use first; none means that they are kept in the file. */
  fixed?: readonly string[];
}

export class MasterKeys {
  readonly #file: string | null;
  readonly #fixed: readonly KeptKey[];
  #kept: KeptKey[] = [];
  /** What is wrong with the file, if it is there and cannot be used. It is left alone then. */
  readonly problem: string | null;

  constructor({ file, fixed = [] }: MasterKeyOptions) {
    this.#file = file;
    this.#fixed = fixed.map((text) => {
      const key = parseMasterKey(text);
      if (key === null) throw new NoMasterKey("A master key is 32 bytes, as hex or base64.");
      return { ...key, text };
    });
    this.problem = this.#load();
  }

  /** Whether the operator has set it, so that only they can change it. */
  get isFixed(): boolean {
    return this.#fixed.length > 0;
  }

  /** Whether older keys are still around. */
  get isTurning(): boolean {
    return this.#all.length > 1;
  }

  /** The key in use; made now if there has been none. */
  get current(): MasterKey {
    const [first] = this.#all;
    if (first !== undefined) return first;
    if (this.problem !== null) throw new NoMasterKey(this.problem);
    return this.turn();
  }

  find(kid: string): MasterKey | undefined {
    return this.#all.find((key) => key.kid === kid);
  }

  /** A new key from now on. The older ones stay until `forgetOlder`, also if the process dies in between. */
  turn(): MasterKey {
    const made = newMasterKey();
    this.#keep([made, ...this.#kept]);
    return made;
  }

  /** Nothing is wrapped with them any more. */
  forgetOlder(): void {
    if (this.isFixed) return;
    this.#keep(this.#kept.slice(0, 1));
  }

  /** Tells equal texts from others without being a hash that somebody could guess against. */
  fingerprint(text: string): string {
    return keyed(this.current.key, text);
  }

  get #all(): readonly KeptKey[] {
    return [...this.#fixed, ...this.#kept];
  }

  #load(): string | null {
    const file = this.#file;
    const content = file === null ? null : readPrivateFile(file);
    if (content === null) return null;
    const lines = content
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "");
    const keys = lines.map((text) => ({ text, key: parseMasterKey(text) }));
    if (keys.length === 0 || keys.some(({ key }) => key === null)) {
      return `${file} does not hold master keys; put the right file back.`;
    }
    this.#kept = keys.flatMap(({ text, key }) => (key === null ? [] : [{ ...key, text }]));
    return null;
  }

  #keep(keys: KeptKey[]): void {
    if (this.#file !== null) writePrivateFile(this.#file, keys.map(({ text }) => `${text}\n`).join(""));
    this.#kept = keys;
  }
}
