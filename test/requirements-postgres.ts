/** What operators who put Bridle on PostgreSQL are promised, beside what holds of every store. */

import { type Requirement, section } from "./requirements.ts";

export const postgresRequirements: readonly Requirement[] = [
  ...section("Bridle", "PostgreSQL", {
    "PGS-1":
      "Stores that commit to one database at the same time number one log, and who has seen a position never finds an earlier one later.",
    "PGS-2":
      "Of batches on two stores that expect one version, or bring one idempotency key, exactly one wins.",
    "PGS-3":
      "Followers hear every commit of every store once, in log order, also when notifications are lost.",
    "PGS-4":
      "A connection that names a tenant is shown rows of no other tenant, and one that names none is shown none.",
    "PGS-5":
      "When connections are cut or the database is killed, what was acknowledged is there exactly once, what was refused is not there, and the store goes on by itself.",
    "PGS-6":
      "Stores that open an empty database together make its tables once; tables of a newer Bridle are refused.",
    "PGS-7": "Content and events that were damaged on the disk are reported, and never answered with.",
    "PGS-8": "The log goes on in the next partition without anybody noticing.",
    "PGS-9":
      "A database that cannot be used, and a command that cannot use one, is told in one line with what to do and without a password; a server ends with exit code 2.",
    "PGS-10":
      "One server at a time works on a database: a second one is refused, and one that comes after a dead one goes on where it was.",
    "PGS-12": "The doctor examines the database and its settings, and no command shows the password.",
    "PGS-11":
      "While the database is away requests get 503 with Retry-After and /ready and /metrics say so; afterwards everything goes on by itself, and nothing acknowledged is lost.",
  }),
  ...section("Bridle", "bridle copy", {
    "CPY-1":
      "A stopped server is copied from SQLite to PostgreSQL and back with ids, versions, receipts, content and searches as they were; the hash of the log and the documents are verified.",
    "CPY-2":
      "A copy that was interrupted starts no server and goes on where it was; one that would overwrite something, or whose server runs, is refused.",
  }),
];
