/** Reading something long page by page. Between pages the event loop gets its turn. */

import { nextSlice } from "../../slices.ts";

/** `read` returns what follows the last item of the page before; an empty page is the end. */
export async function* readPages<T>(read: (last: T | undefined) => Promise<T[]>): AsyncGenerator<T[]> {
  let last: T | undefined;
  while (true) {
    await nextSlice();
    const page = await read(last);
    if (page.length === 0) return;
    last = page.at(-1);
    yield page;
  }
}
