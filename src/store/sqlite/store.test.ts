/** The SQLite store keeps the contract of the port. */

import { storeContract } from "../../../test/store-contract.ts";
import { temporaryDirectory } from "../../../test/support/server.ts";
import { openSqliteStore } from "./open.ts";

storeContract("SQLite", async () => {
  const directory = await temporaryDirectory();
  return {
    open: () => openSqliteStore(directory.path),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  };
});
