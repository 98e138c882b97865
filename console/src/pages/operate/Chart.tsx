/** Values over time as lines. What it shows is also said in words: the last value of each line stands beside its name. */

export interface Line {
  name: string;
  /** Null where nothing was measured. */
  values: readonly (number | null)[];
}

interface ChartProps {
  title: string;
  lines: readonly Line[];
  /** A value in words. */
  show(value: number): string;
}

const [width, height] = [320, 72];

export function Chart({ title, lines, show }: ChartProps) {
  const all = lines.flatMap(({ values }) => values.flatMap((value) => value ?? []));
  const most = Math.max(...all, 0);
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong>
        <span className="quiet">{all.length === 0 ? "" : show(most)}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        className="icon chart__lines"
      >
        {lines.map(({ name, values }, n) => (
          <path key={name} d={pathOf(values, most)} className={`chart__line chart__line--${n}`} />
        ))}
      </svg>
      <ul className="chart__names">
        {lines.map(({ name, values }, n) => {
          const last = values.findLast((value) => value !== null) ?? null;
          return (
            <li key={name}>
              <span className={`chart__key chart__key--${n}`} aria-hidden="true" />
              {name} <strong>{last === null ? "–" : show(last)}</strong>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}

function pathOf(values: readonly (number | null)[], most: number): string {
  const step = width / Math.max(1, values.length - 1);
  let isDrawing = false;
  const parts = values.flatMap((value, n) => {
    if (value === null) {
      isDrawing = false;
      return [];
    }
    const y = most === 0 ? height - 1 : height - 1 - (value / most) * (height - 3);
    const part = `${isDrawing ? "L" : "M"}${(n * step).toFixed(1)} ${y.toFixed(1)}`;
    isDrawing = true;
    return [part];
  });
  return parts.join("");
}
