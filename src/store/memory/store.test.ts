/** The store in memory keeps the contract of the port; what it is opened on again is the same contents. */

import { storeContract } from "../../../test/store-contract.ts";
import { MemoryContents } from "./contents.ts";
import { createMemoryStore } from "./open.ts";

storeContract("memory", async () => {
  const contents = new MemoryContents();
  return {
    open: async () => createMemoryStore(contents),
    async [Symbol.asyncDispose]() {},
  };
});
