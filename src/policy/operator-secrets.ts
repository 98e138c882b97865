/** Secrets that the operator gives the process: environment variables under a prefix, and mounted files. */

import { open, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

export interface OperatorSecretSettings {
  /** Variables that begin so are secrets, under the rest of their name; null offers none. */
  envPrefix: string | null;
  /** Its files are secrets, under their names; null offers none. */
  directory: string | null;
}

const valueBytesMax = 16 * 1024;

export class OperatorSecrets {
  readonly #settings: OperatorSecretSettings;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(
    settings: OperatorSecretSettings = { envPrefix: null, directory: null },
    env: Readonly<Record<string, string | undefined>> = process.env,
  ) {
    this.#settings = settings;
    this.#env = env;
  }

  /** Which kinds of vaults the operator offers. */
  get offered(): ("env" | "file")[] {
    const { envPrefix, directory } = this.#settings;
    return [
      ...(envPrefix === null ? [] : ["env" as const]),
      ...(directory === null ? [] : ["file" as const]),
    ];
  }

  variable(name: string): string | null {
    const { envPrefix } = this.#settings;
    if (envPrefix === null) return null;
    const variable = envPrefix + name;
    // The server's own settings are nobody's secrets, however short the prefix is.
    const isOurs = variable.startsWith("BRIDLE_") && !variable.startsWith("BRIDLE_SECRET_");
    return isOurs ? null : this.#env[variable] || null;
  }

  /** The content of a file, without the line break that editors put at the end. A link must not lead out of the directory. */
  async file(name: string): Promise<string | null> {
    const { directory } = this.#settings;
    if (directory === null) return null;
    try {
      const root = await realpath(directory);
      const path = await realpath(join(root, name));
      if (!path.startsWith(root + sep)) return null;
      await using file = await open(path, "r");
      if (!(await file.stat()).isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(valueBytesMax + 1), 0, valueBytesMax + 1, 0);
      if (bytesRead > valueBytesMax)
        throw new Error(`The secret ${name} has more than ${valueBytesMax} bytes.`);
      return buffer.toString("utf8", 0, bytesRead).replace(/\r?\n$/, "") || null;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    }
  }
}
