/** A second is promised; a busy machine may take longer, but not as long as what is looked at every 15 seconds only. */
const msMax = 10_000;

/** Fails when something takes too long to be done at once. */
export async function soon<T>(what: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`It took longer than ${msMax} ms`)), msMax);
  return await Promise.race([what, late.promise]).finally(() => clearTimeout(timer));
}
