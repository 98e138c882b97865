/** A text file of a workspace, or what is in one of its directories. */

import type { FileListing, FileText } from "../../files/workspace-files.ts";
import type { Caller } from "../../policy/caller.ts";
import { noteContentRead } from "../audit/content-reads.ts";
import { getRecord } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import { asRefusal, placeOf, requireFiles } from "./files.ts";

export async function readWorkspaceFile(
  deps: KernelDeps,
  caller: Caller,
  workspaceId: string,
  path: string,
): Promise<FileText | FileListing> {
  const workspace = await getRecord(deps, caller, "workspace", workspaceId);
  requireFiles(workspace, "read");
  await noteContentRead(deps, caller, { kind: "workspace", id: workspace.id }, "file");
  return await asRefusal(() => deps.files.read(placeOf(workspace), path));
}
