/** Write a text file of a workspace. The log has its hash; the file itself is kept as it was sent. */

import { parsePath } from "../../files/safe-path.ts";
import type { WrittenFile } from "../../files/workspace-files.ts";
import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { requireStorage } from "../quotas/room.ts";
import { asRefusal, placeOf, requireFiles } from "./files.ts";

export interface WriteWorkspaceFile {
  workspaceId: string;
  path: string;
  content: string;
  metadata?: JsonObject | undefined;
}

export const writeWorkspaceFile: Command<WriteWorkspaceFile, WrittenFile> = {
  name: "write_workspace_file",
  scope: "workspaces:write",
  decide(unit, { workspaceId, path, content, metadata = {} }) {
    const { deps, redactor } = unit;
    unit.awaited("path", () => asRefusal(async () => parsePath(path)));
    if (redactor.text(path) !== path) {
      throw new HarnessError("invalid_request", "The path looks like a secret; it would be in the log.", {
        param: "path",
      });
    }
    // One after the other, so that the last event about a path is about what is there.
    unit.hold(fileLock(workspaceId, path));
    const workspace = unit.require("workspace", workspaceId);
    requireFiles(workspace, "write");
    requireStorage(unit, Buffer.byteLength(content));
    const written = unit.awaited("file", () =>
      asRefusal(() => deps.files.write(placeOf(workspace), path, content)),
    );
    const { sha256, bytes } = written;
    unit.emit(workspace, "vendor.bridle.workspace.file_written", { path, sha256, bytes, metadata });
    return written;
  },
};

export function fileLock(workspaceId: string, path: string): string {
  return `file:${workspaceId}/${path}`;
}
