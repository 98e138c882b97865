/** Names of callers: who stands in the log for what was done. */

/** Those that the server itself acts as, and how the names of its parts begin. */
const reserved: ReadonlySet<string> = new Set(["admin", "system", "gateway", "anonymous"]);
const reservedPrefixes = ["agent:", "schedule:", "connector_"];

/** What nobody sees makes one name look like another. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/** Why a caller cannot have this name; null when it can. */
export function whyNoActor(actor: string): "invisible" | "reserved" | null {
  if (invisible.test(actor)) return "invisible";
  const name = foldedActor(actor);
  const isReserved = reserved.has(name) || reservedPrefixes.some((prefix) => name.startsWith(prefix));
  return isReserved ? "reserved" : null;
}

/** The same for names that people take for one another by case, width or the spaces around them. */
export function foldedActor(actor: string): string {
  return actor.normalize("NFKC").trim().toLowerCase();
}
