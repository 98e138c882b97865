/** Where an error was thrown, with its causes: for whoever wrote the code. */

/** As much of it as is kept. */
const stackCharsMax = 16_384;
const causesMax = 5;

export function stackOf(thrown: unknown): string {
  const lines: string[] = [];
  let error = thrown;
  for (let depth = 0; depth <= causesMax && error !== undefined; depth++) {
    lines.push(`${depth === 0 ? "" : "Caused by: "}${textOf(error)}`);
    error = error instanceof Error ? error.cause : undefined;
  }
  return lines.join("\n").slice(0, stackCharsMax);
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack } = error;
  // V8 puts name and message in front; an error that was given another message keeps the old one there.
  return stack?.includes(message) === true ? stack : `${name}: ${message}\n${stack ?? ""}`.trimEnd();
}
