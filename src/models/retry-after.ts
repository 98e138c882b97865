/** When a provider asks to be called again. */

/** Who asks for longer is asked once more after this, and then by somebody else's decision. */
const retryAfterMsMax = 10 * 60 * 1000;

export function retryAfterMs(
  {
    responseHeaders,
    responseBody,
  }: { responseHeaders?: Record<string, string> | undefined; responseBody?: string | undefined },
  now = Date.now(),
): number | null {
  const wait =
    milliseconds(responseHeaders?.["retry-after-ms"], 1) ??
    milliseconds(responseHeaders?.["retry-after"], 1000) ??
    untilDate(responseHeaders?.["retry-after"], now) ??
    // Google says it in the body only.
    milliseconds(/"retryDelay":\s*"([\d.]+)s"/.exec(responseBody ?? "")?.[1], 1000);
  return wait === null ? null : Math.min(retryAfterMsMax, Math.max(0, Math.ceil(wait)));
}

function milliseconds(text: string | undefined, unitMs: number): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * unitMs : null;
}

function untilDate(text: string | undefined, now: number): number | null {
  // Of what can be parsed as a date, only what is written like one in HTTP.
  const date = /^[A-Za-z]{3,9}, /.test(text ?? "") ? Date.parse(text ?? "") : Number.NaN;
  return Number.isNaN(date) ? null : date - now;
}
