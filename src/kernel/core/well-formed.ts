/** Half a surrogate pair is text to JSON but has no canonical form; where text is hashed, it is replaced. */

/** What a hash function makes of the value or, when it refuses it, of the value with its text made whole. */
export function hashWellFormed<T, R>(value: T, hash: (value: T) => R): R {
  try {
    return hash(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return hash(wellFormed(value));
  }
}

/** A copy of the same shape, in which only letters inside strings may differ. */
export function wellFormed<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), copyOf(member)]),
  );
}
