/** Where the files of this package are. Bundled modules lie in `lib/`, which is beside `src/`. */

export const isBundled: boolean = import.meta.url.endsWith(".js");

export const packageRoot: URL = new URL("../", import.meta.url);

/** The web console as it was built, in a package as in a clone. */
export const consoleFolder: URL = new URL("./lib/console/", packageRoot);

/** The `bridle` command. */
export const mainModule: URL = new URL(isBundled ? "./main.js" : "./cli/main.ts", import.meta.url);

/** The thread that writes to the database. */
export const writerModule: URL = new URL(
  isBundled ? "./writer.js" : "./store/sqlite/writer.ts",
  import.meta.url,
);

/** The thread that copies commits from the write-ahead log to the database. */
export const checkpointerModule: URL = new URL(
  isBundled ? "./checkpointer.js" : "./store/sqlite/checkpointer.ts",
  import.meta.url,
);

/** The thread that makes receipts. */
export const receiptsModule: URL = new URL(
  isBundled ? "./receipts-worker.js" : "./server/receipts-worker.ts",
  import.meta.url,
);

/** The thread that searches long texts for secrets. */
export const redactionModule: URL = new URL(
  isBundled ? "./redaction-worker.js" : "./server/redaction-worker.ts",
  import.meta.url,
);
