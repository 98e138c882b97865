/** Promises that a run waits for, and those that it gives to its agent. */

/** A promise for code that must not go on. Nothing refers to it but that code, so both are collected together. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Promises that are given to an agent may reject before the agent awaits them. Node would end the process for that; here
 * it is the agent's business, and whoever awaits such a promise still hears of it.
 */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** The same object; what its functions return is handled. Nothing is made for functions that are never called. */
export function guarded<T extends object>(target: T): T {
  return new Proxy<T>(target, { get: guardedMember });
}

function guardedMember(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name);
  if (typeof member !== "function") return member;
  return (...args: unknown[]) => {
    const returned: unknown = Reflect.apply(member, target, args);
    return returned instanceof Promise ? handled(returned) : returned;
  };
}
