/** Everything that waits in an inbox of a gateway, page by page. */

import { type ListedMessage, pageBytesMax, pageItemsMax, readInboxPage } from "./gateway-answers.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { GatewayRefusal } from "./gateway-link.ts";

/** More than anybody looks through; a gateway that always has another page is not believed for ever. */
const pagesMax = 1000;

/** `path` is that of the inbox, without a query. */
export async function* readInbox(
  client: GatewayClient,
  path: string,
  signal?: AbortSignal,
): AsyncGenerator<ListedMessage> {
  let cursor: string | null = null;
  for (let page = 1; page <= pagesMax; page++) {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await client.call(`${path}?limit=${pageItemsMax}${query}`, readInboxPage, {
      bytesMax: pageBytesMax,
      ...(signal === undefined ? {} : { signal }),
    });
    yield* body.items;
    if (body.nextCursor === null) return;
    cursor = body.nextCursor;
  }
  throw new GatewayRefusal("SenselessAnswer", 502, `The inbox has more than ${pagesMax} pages.`, {
    isRetryable: true,
  });
}
