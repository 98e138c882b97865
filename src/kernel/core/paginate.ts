/** Walking a whole list, oldest first. The next page is read only when it is wanted: what was read may be gone by then. */

import type { DocumentQuery, StoredDocument, TenantStore } from "../../store/port.ts";
import { readPages } from "./read-pages.ts";

const pageSize = 100;

export function paginate(
  store: Pick<TenantStore, "list">,
  query: Omit<DocumentQuery, "order" | "beyond" | "limit">,
): AsyncGenerator<StoredDocument[]> {
  return readPages((last) => store.list({ ...query, order: "oldest_first", beyond: last, limit: pageSize }));
}
