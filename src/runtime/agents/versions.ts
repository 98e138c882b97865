/** Which of two versions is newer, where they are semantic versions (semver 2.0.0, section 11). */

interface SemanticVersion {
  numbers: number[];
  prerelease: string[];
}

const pattern = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

function parse(version: string): SemanticVersion | null {
  const [, major, minor, patch, prerelease] = pattern.exec(version) ?? [];
  if (patch === undefined) return null;
  return { numbers: [major, minor, patch].map(Number), prerelease: prerelease?.split(".") ?? [] };
}

/** Negative, zero or positive, as for sorting; null when one of them is no semantic version. */
export function compareVersions(one: string, other: string): number | null {
  const [a, b] = [parse(one), parse(other)];
  if (a === null || b === null) return null;
  for (const [index, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return comparePrereleases(a.prerelease, b.prerelease);
}

/** What is released comes after all that led to it. */
function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  for (const [index, identifier] of one.entries()) {
    const against = other[index];
    if (against === undefined) return 1;
    const difference = compareIdentifiers(identifier, against);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Numbers come before words. */
function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber && isOtherNumber) return Number(one) - Number(other);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return one === other ? 0 : one < other ? -1 : 1;
}
