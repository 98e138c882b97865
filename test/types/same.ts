/** Whether two types are the same: `assertSame<A, B>(true)` compiles only if they are. */

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export function assertSame<A, B>(_isSame: Same<A, B>): void {}
