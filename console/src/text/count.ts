/** A number with what it counts. */

const plural = new Intl.PluralRules("en");
export const count = (n: number, one: string, other: string) =>
  `${n.toLocaleString("en")} ${plural.select(n) === "one" ? one : other}`;
