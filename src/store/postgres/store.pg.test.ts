/** The PostgreSQL store keeps the contract of the port. */

import { storeContract } from "../../../test/store-contract.ts";
import { sharedPostgres } from "../../../test/support/postgres.ts";
import { openPostgresStore } from "./open.ts";

const database = sharedPostgres().then((server) => server.newDatabase());
let schemas = 0;

/** As servers use it: alone, with documents in memory. How several write to one database is in `nodes.pg.test.ts`. */
storeContract("PostgreSQL", async () => {
  schemas += 1;
  const schema = `bridle_${schemas}`;
  return {
    open: async () => openPostgresStore({ url: await database, schema, isSole: true }),
    async [Symbol.asyncDispose]() {},
  };
});
