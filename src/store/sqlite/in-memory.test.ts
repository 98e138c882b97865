/** The SQLite store in memory keeps the contract of the port; what it is opened on again is the same database. */

import { storeContract } from "../../../test/store-contract.ts";
import { MemoryDatabase, openMemoryStore } from "./in-memory.ts";

storeContract("SQLite in memory", async () => {
  const database = new MemoryDatabase();
  return {
    open: async () => openMemoryStore(database),
    async [Symbol.asyncDispose]() {},
  };
});
