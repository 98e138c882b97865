/** What commands that run agents have in common while the server is up, and when it is to stop. */

import { resolve } from "node:path";
import type { Logger } from "pino";
import { defaultConfig } from "../../server/config.ts";
import type { Server } from "../../server/server.ts";
import { harpPath } from "../../surfaces/addresses.ts";
import { isLoopbackHost } from "../../surfaces/loopback.ts";
import type { Serving } from "../settings/server-config.ts";
import { keyLines, stopFailed } from "./listening.ts";

/** Where everything is. */
export function addressLines(server: Server, serving: Serving): string {
  const agents = agentsOf(serving);
  return `  URL       ${server.url}
${otherAddressLines(server)}
  Data      ${resolve(serving.settings.data)}
${keyLines(server.adminKey)}${agents === "" ? "" : `\n  Agents    ${agents}`}`;
}

/** Where more than HTTP is spoken. */
export function otherAddressLines({ url, grpcUrl, harpUrl }: Server): string {
  return `  gRPC      ${grpcUrl ?? "off"}
  HARP      ${[harpUrl, url + harpPath].filter((at) => at !== null).join("\n            ")}`;
}

/** Those that came with the project; empty when none did. */
export function agentsOf({ project }: Serving): string {
  return project.agents.map(({ agent }) => `${agent.name}@${agent.version}`).join(", ");
}

/** What other commands have to be told to find the server: they look into the usual data directory themselves. */
export function whereToFind({ data }: Serving["settings"]): string {
  return data === defaultConfig.dataDirectory ? "" : ` --data ${data}`;
}

/** An agent that forgets to await a promise of its own must not take everybody's tasks down with it. */
export function listenToRejections({ kernel }: Server, logger: Logger): void {
  process.on("unhandledRejection", (error) => {
    const { redactor, seenSecrets } = kernel;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.error(
      { event: "process.unhandled_rejection", error: redactor.with([...seenSecrets]).text(text) },
      "A promise was rejected and not handled",
    );
  });
}

/** For servers that others reach: programs of the same user can read the initial environment of this process. */
export function reportSecretsInEnvironment({ settings, secrets }: Serving, logger: Logger): void {
  const { inEnvironment: variables } = secrets;
  if (variables.length === 0 || isLoopbackHost(settings.host)) return;
  logger.info(
    { event: "secrets.in_environment", variables },
    "Secrets were set in the environment, where other programs of this user can read them; use files (NAME_FILE) instead",
  );
}

/** `asked` is listened for from before anybody is told that the server is ready. */
export async function stopWhenAsked(
  asked: Promise<void>,
  server: Server,
  graceMs: number,
  beforehand: () => void = () => {},
): Promise<void> {
  const failure = await Promise.race([asked, server.failed]);
  beforehand();
  if (failure !== undefined) return await stopFailed(failure, () => server.stop(0));
  process.stdout.write("\nStopping: no new work, running steps may finish. Ctrl-C again to stop at once.\n");
  const { interrupted: cut } = await server.stop(graceMs);
  const note = cut === 0 ? "" : ` ${cut} running tasks were cut short; they go on at the next start.`;
  // A step that does not listen to its signal must not keep a stopped server alive.
  process.stdout.write(`Stopped. The log is closed.${note}\n`, () => process.exit(0));
}
