/** Walking a whole list, oldest first. The next page is read only when it is wanted: what was read may be gone by then. */

import type { DocumentQuery, StoredDocument, TenantStore } from "../store/port.ts";

const pageSize = 100;

export async function* everyPage(
  store: Pick<TenantStore, "list">,
  query: Omit<DocumentQuery, "order" | "beyond" | "limit">,
): AsyncGenerator<StoredDocument[]> {
  let beyond: DocumentQuery["beyond"];
  while (true) {
    const page = await store.list({ ...query, order: "oldest_first", beyond, limit: pageSize });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < pageSize) return;
    beyond = { born: last.born, id: last.id };
  }
}
