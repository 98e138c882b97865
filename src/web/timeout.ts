/** Waiting for something, but not for ever. */

/** Throws an error with the SDK's own code for that when it takes longer. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const error = Object.assign(new Error("It took too long."), { code: "REQUEST_TIMEOUT" });
  const timer = setTimeout(() => reject(error), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
