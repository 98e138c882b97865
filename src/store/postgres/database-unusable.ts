/** A database that no server can work on, for a reason that only its operator can remove. */
export class DatabaseUnusable extends Error {
  override name = "DatabaseUnusable";
}
