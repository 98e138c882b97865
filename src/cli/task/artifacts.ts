/** The files of a task in a table. */

import type { Artifact } from "../../sdk/client/index.ts";
import { sizeText } from "../shell/presenter.ts";
import { table } from "../terminal/table.ts";

export function artifactTable(artifacts: readonly Artifact[]): string {
  const rows = artifacts.map(({ id, kind, mime_type, bytes, name }) => [
    id,
    kind,
    bytes === null ? "" : sizeText(bytes),
    mime_type,
    name ?? "",
  ]);
  return table(["FILE", "KIND", "SIZE", "TYPE", "NAME"], rows);
}
