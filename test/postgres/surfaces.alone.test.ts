/** The suites of the surfaces, with servers on PostgreSQL: what clients see is the same. Alone: the suites are loaded a second time. */

import { serveFromPostgres } from "../support/database.ts";

serveFromPostgres();
for (const suite of [
  "../opvs/send.e2e.test.ts",
  "../openharness/runs.e2e.test.ts",
  "../harp/binding.e2e.test.ts",
]) {
  await import(suite);
}
