/** Resolves after that time, or as soon as the signal is aborted; the caller looks at the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const end = () => resolve();
  signal?.addEventListener("abort", end);
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", end);
}
