/** Lists, the same way for everything that is listed: a page at a time, or one after the other to the end. */

import type { Transport } from "./transport.ts";
import type { Page, PageOptions } from "./types.ts";

export interface Listed<Item, Options extends PageOptions = PageOptions> {
  list(options?: Options): Promise<Page<Item>>;
  /** Every one of them, the next page when it is wanted. `limit` is the size of the pages. */
  all(options?: Options): AsyncGenerator<Item, void, undefined>;
}

type Query = Record<string, string | number | undefined>;

/** `filters` says what the server calls the options that are not those of every list. */
export function createListed<Item, Options extends PageOptions = PageOptions>(
  transport: Transport,
  path: string,
  filters: (options: Partial<Options>) => Query = () => ({}),
): Listed<Item, Options> {
  const list: Listed<Item, Options>["list"] = (options) => {
    const { limit, cursor, signal } = options ?? {};
    const query = { ...filters(options ?? {}), limit, cursor };
    return transport.page<Item>(path, { query, signal });
  };
  return { list, all: (options) => everyItem(list, options) };
}

/** Whatever gives pages. */
export async function* everyItem<Item, Options extends PageOptions>(
  list: (options: Options) => Promise<Page<Item>>,
  options: Options = {} as Options,
): AsyncGenerator<Item, void, undefined> {
  let page = await list(options);
  while (true) {
    yield* page.items;
    if (page.nextCursor === null) return;
    page = await list({ ...options, cursor: page.nextCursor });
  }
}
