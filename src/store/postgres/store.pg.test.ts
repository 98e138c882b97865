/** The PostgreSQL store keeps the contract of the port. */

import { storeContract } from "../../../test/store-contract.ts";
import { sharedPostgres } from "../../../test/support/postgres.ts";
import { openPostgresStore } from "./open.ts";

let schemas = 0;
const database = sharedPostgres().then((server) => server.newDatabase());

storeContract("PostgreSQL", async () => {
  const schema = `bridle_${++schemas}`;
  return {
    open: async () => openPostgresStore({ url: await database, schema }),
    async [Symbol.asyncDispose]() {},
  };
});
