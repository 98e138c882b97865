/** How requests go to providers: nowhere else than to the address that was set, and with bounds on what comes back. */

/** What a body is not read any further for, in words that follow the name of who sent it. */
export class BodyFault extends Error {
  override name = "BodyFault";
  readonly kind: "silent" | "too_large";

  constructor(kind: BodyFault["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The longest answers of models have some hundred thousand tokens; with all that is around each of them this is plenty. */
const bodyBytesMax = 64 * 1024 * 1024;

/** A stream that is silent for longer than `idleMs` is given up; signs of life that providers send count. */
export function guardedFetch(idleMs: number): typeof fetch {
  return async (input, init) => {
    // Keys are in headers of their own, which would go along to wherever a redirect leads.
    const response = await fetch(input, { ...init, redirect: "manual" });
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const { status, statusText, headers } = response;
    return new Response(guarded(response.body, isStream ? idleMs : null), { status, statusText, headers });
  };
}

function guarded(body: ReadableStream<Uint8Array>, idleMs: number | null): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await inTime(reader.read(), idleMs);
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes > bodyBytesMax) throw new BodyFault("too_large", `sent more than ${bodyBytesMax} bytes`);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        // It ends the connection; that this can fail, too, is of no interest any more.
        await reader.cancel(error).catch(() => {});
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function inTime<T>(read: Promise<T>, idleMs: number | null): Promise<T> {
  if (idleMs === null) return await read;
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BodyFault("silent", `was silent for ${idleMs} ms`)), idleMs);
  });
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}
