/** The protocol's list envelope. */

import type { Page } from "../../kernel/core/read.ts";

export async function presentPage<T>(
  page: Page<T>,
  present: (item: T) => unknown,
): Promise<{ object: "list"; data: unknown[]; page: { next_cursor: string | null; has_more: boolean } }> {
  return {
    object: "list",
    data: await Promise.all(page.data.map(present)),
    page: { next_cursor: page.nextCursor, has_more: page.nextCursor !== null },
  };
}
