/** Whether the ports are free, or held by the server that they are meant for. */

import { isFree } from "../serving/free-port.ts";
import type { ServeSettings } from "../settings/settings.ts";
import { type Answer, ok, problem, warning } from "./finding.ts";
import type { RunningServer } from "./running-server.ts";

const flags = { port: "--port", grpcPort: "--grpc-port", harpPort: "--harp-port" } as const;

export interface PortSituation {
  settings: ServeSettings;
  /** Who answers at the first port. */
  server: RunningServer | null;
  /** Whether a server has the data directory open. */
  isHeld: boolean;
}

export async function portUse(
  name: keyof typeof flags,
  { settings, server, isHeld }: PortSituation,
): Promise<Answer> {
  const port = settings[name];
  if (port === "off") return ok("off");
  if (port === 0) return ok("the system chooses one");
  if (await isFree(settings.host, port)) return ok(`${port} is free`);
  const another = `Choose another with ${flags[name]}.`;
  if (isHeld) {
    // Only the first port can be asked whose it is.
    if (server !== null) return ok(`${port} is held by Bridle ${server.version}, which is running`);
    return warning(`${port} is taken, perhaps by the server that has the data directory open`, another);
  }
  if (server === null) return problem(`${port} is taken by another program`, `Stop it. ${another}`);
  return warning(`${port} is taken; a Bridle with another data directory is running`, another);
}
