/** The server's counters, as its metrics page has them: text of Prometheus, one sample a line. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function readMetrics(page: string): Sample[] {
  return page.split("\n").flatMap((text) => {
    const found = text.startsWith("#") ? null : line.exec(text);
    if (found === null) return [];
    const [, name = "", labels = "", value = ""] = found;
    const named = [...labels.matchAll(label)].map(([, key = "", raw = ""]) => [key, unescaped(raw)] as const);
    return [{ name, labels: Object.fromEntries(named), value: value === "+Inf" ? Infinity : Number(value) }];
  });
}

function unescaped(raw: string): string {
  return raw.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
}

/** The sum of all samples of this name that have these labels. */
export function sumOf(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  let sum = 0;
  for (const sample of samples) {
    if (sample.name !== name) continue;
    if (Object.entries(labels).every(([key, value]) => sample.labels[key] === value)) sum += sample.value;
  }
  return sum;
}

/** How many were at most so many seconds, from the least to +Inf. */
export type Buckets = ReadonlyMap<number, number>;

export function bucketsOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): Buckets {
  const buckets = new Map<number, number>();
  for (const { name: of, labels: has, value } of samples) {
    if (of !== `${name}_bucket` || !Object.entries(labels).every(([key, one]) => has[key] === one)) continue;
    const most = has.le === "+Inf" ? Infinity : Number(has.le);
    buckets.set(most, (buckets.get(most) ?? 0) + value);
  }
  return new Map([...buckets].sort(([one], [other]) => one - other));
}

/** What happened between two looks. */
export function bucketsSince(before: Buckets, now: Buckets): Buckets {
  return new Map([...now].map(([most, count]) => [most, Math.max(0, count - (before.get(most) ?? 0))]));
}

/** In seconds, between the bounds of its bucket; null when nothing was measured. */
export function quantileOf(buckets: Buckets, quantile: number): number | null {
  const all = [...buckets.values()].at(-1) ?? 0;
  if (all === 0) return null;
  const wanted = all * quantile;
  let [from, below] = [0, 0];
  for (const [most, count] of buckets) {
    if (count >= wanted) {
      // Beyond the last bound nothing is known but the bound.
      if (most === Infinity) return from;
      return from + ((most - from) * (wanted - below)) / Math.max(1, count - below);
    }
    [from, below] = [most, count];
  }
  return from;
}
