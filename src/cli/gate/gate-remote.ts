/** Which server decides. The directory that a guarded tool works in, and may write into, has no say in that. */

import { isAbsolute } from "node:path";
import { Remote, type RemoteSettings } from "../remote.ts";
import { Denied, gateExit } from "./denial.ts";

export function gateRemote(settings: RemoteSettings): Remote {
  const { url, key = process.env.BRIDLE_API_KEY, data } = settings;
  if (isAbsolute(data) || (url !== undefined && key !== undefined)) return new Remote(settings);
  throw new Denied(
    "It is not known which server decides. Set BRIDLE_URL and BRIDLE_KEY, or BRIDLE_DATA to the full path of the server's data directory: the gate does not take them from the directory that it guards.",
    gateExit.failed,
  );
}
