/** What an event may change in a record, member by member: a fold takes these and nothing else that a payload may hold. */

/** All members of the changes, by name; the compiler sees that none is missing. */
export type MembersOf<Changes extends object> = { readonly [Name in keyof Required<Changes>]: true };

export function picked<Changes extends object>(changes: Changes, members: MembersOf<Changes>): Changes {
  const named = Object.entries(changes).filter(([name]) => Object.hasOwn(members, name));
  return Object.fromEntries(named) as Changes;
}
