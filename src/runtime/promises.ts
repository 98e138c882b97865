/**
 * Promises that are given to an agent may reject before the agent awaits them. Node would end the process for that; here
 * it is the agent's business, and whoever awaits such a promise still hears of it.
 */

export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** The same object; what its functions return is handled. */
export function guarded<T extends object>(target: T): T {
  for (const [name, member] of Object.entries(target)) {
    if (typeof member !== "function") continue;
    Reflect.set(target, name, (...args: unknown[]) => {
      const returned = Reflect.apply(member, target, args);
      return returned instanceof Promise ? handled(returned) : returned;
    });
  }
  return target;
}
