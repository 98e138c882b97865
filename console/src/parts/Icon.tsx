/** The few signs that are used, drawn on a grid of 20. */

const paths = {
  runs: "M3 5h8M3 10h14M7 15h10",
  chevron: "m6 8 4 4 4-4",
  back: "m12 5-5 5 5 5",
  check: "m4 10.5 4 4 8-9",
  approve: "m6.5 10.5 2.5 2.5 4.5-5.5M10 2.5l6.5 2.4v4.6c0 4-2.7 6.7-6.5 8-3.8-1.3-6.5-4-6.5-8V4.9z",
  talk: "M3 4.5h14v9.5H9l-4 3v-3H3z",
  receipt: "M5 2.5h10v15l-2.5-1.6-2.5 1.6-2.5-1.6L5 17.5zM8 7h4M8 10.5h4",
  key: "M12.5 11.5a4 4 0 1 0-3.8-2.7L2.5 15v2.5h3V15h2v-2h1.9a4 4 0 0 0 3.1-1.5ZM13.5 6.5h.01",
  cross: "m5 5 10 10M15 5 5 15",
  operate:
    "M3 6h6m4 0h4M3 14h3m4 0h7M11 3.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5ZM8 11.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z",
  eye: "M2 10s3-5.5 8-5.5S18 10 18 10s-3 5.5-8 5.5S2 10 2 10Zm8 2.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  copy: "M7 7V3.5h9.5V13H13M3.5 7H13v9.5H3.5z",
  dots: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  download: "M10 3v9m-4-3.5 4 4 4-4M4 16.5h12",
  spark: "M10 2.5 11.8 8 17.5 10l-5.7 2L10 17.5 8.2 12 2.5 10l5.7-2z",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === "dots" ? 3 : 1.7}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" className="mark__ground" />
      <path
        d="M11 6.5h5.2a4.6 4.6 0 0 1 0 9.2H11m0 0h6.6a4.9 4.9 0 0 1 0 9.8H11zM11 6.5v19"
        fill="none"
        stroke="#fff"
        strokeWidth="2.8"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
