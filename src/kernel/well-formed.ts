/** Half a surrogate pair is text to JSON but has no canonical form; where text is hashed, it is replaced. */

/** What a hash function makes of the value or, when it refuses it, of the value with its text made whole. */
export function hashWhole<T, R>(value: T, hash: (value: T) => R): R {
  try {
    return hash(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The copy has the same shape: only letters inside strings differ.
    return hash(wellFormed(value) as T);
  }
}

function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), wellFormed(member)]),
  );
}
