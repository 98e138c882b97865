/** The PostgreSQL database that a server would use. */

import { connectionsNeeded, schemas } from "../../server/stores.ts";
import { type Answer, ok, warning } from "./finding.ts";

const mebibyte = 1024 * 1024;

/** Throws when no server can use it. */
export async function databaseInUse(url: string): Promise<Answer> {
  const { examineDatabase } = await import("../../store/postgres/examine.ts");
  const found = await examineDatabase({ url, schema: schemas.log }, connectionsNeeded);
  const size = `${Math.ceil(found.bytes / mebibyte).toLocaleString("en")} MiB`;
  const about = `PostgreSQL ${found.version}, ${size}`;
  if (found.weaknesses.length === 0) return ok(about);
  const messages = found.weaknesses.map(({ message }) => message);
  const advice = found.weaknesses.map((weakness) => weakness.advice);
  return warning(`${about}; ${messages.join("; ")}`, advice.join(" "));
}
