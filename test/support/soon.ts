/** Fails when something takes longer than a second. */
export async function soon<T>(what: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("It took longer than a second")), 1000);
  return await Promise.race([what, late.promise]).finally(() => clearTimeout(timer));
}
