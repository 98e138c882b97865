/** All checks, in the order in which they are told. */

import { resolve } from "node:path";
import type { Command } from "commander";
import manifest from "../../../package.json" with { type: "json" };
import type { Project } from "../../project/load.ts";
import { inspectStore } from "../../store/sqlite/inspect.ts";
import { isLocked } from "../../store/sqlite/lock.ts";
import { findProject } from "../settings/find-project.ts";
import type { ServeSecrets } from "../settings/secret-files.ts";
import { problemWith, type ServeSettings } from "../settings/settings.ts";
import { clock, nodeVersion } from "./basics.ts";
import { diskSpace, keyFiles, storeOfServer, storesAtRest, writable } from "./data.ts";
import { databaseInUse } from "./database.ts";
import { type Answer, type Finding, finding, ok, problem, warning } from "./finding.ts";
import { configuration, models } from "./of-project.ts";
import { portUse } from "./ports.ts";
import { askServer, type RunningServer } from "./running-server.ts";

export async function examine(
  command: Command,
  given: ServeSettings,
  secrets: ServeSecrets,
): Promise<Finding[]> {
  let project: Project | null = null;
  const config = await finding(
    "config",
    async () => {
      ({ project } = await findProject(command, given));
      return configuration(project);
    },
    "Put it right; no server starts with it.",
  );
  // With what the project says.
  const settings = command.opts<ServeSettings>();
  const directory = resolve(settings.data);
  const server = await askServer(settings);
  const isHeld = lookedAt(() => isLocked(directory), false);
  const stores = isHeld
    ? []
    : [directory, resolve(directory, "gateway")].map((at) => lookedAt(() => inspectStore(at), null));
  const newestAt = stores.flatMap((store) => store?.newestAt ?? []).sort();
  const ports = { settings, server, isHeld };
  return await Promise.all([
    { check: "node", ...nodeVersion(process.versions.node, manifest.engines.node) },
    { check: "clock", ...clock(Date.now(), newestAt.at(-1) ?? null) },
    config,
    { check: "settings", ...settingsTogether(settings, secrets) },
    finding("models", () => modelsOf(project), "Put the settings of models right."),
    finding("data", () => writable(directory), "Choose another directory with --data."),
    finding("disk", () => diskSpace(directory, settings.diskFloor), "Choose another directory with --data."),
    finding("keys", () => keyFiles(directory), "Let the user who runs Bridle own the data directory."),
    finding(
      "store",
      () => storeAnswer(settings, server, isHeld),
      "Copy the data directory before you try anything.",
    ),
    finding("port", () => portUse("port", ports), "Choose another with --port."),
    finding("grpc-port", () => portUse("grpcPort", ports), "Choose another with --grpc-port."),
    finding("harp-port", () => portUse("harpPort", ports), "Choose another with --harp-port."),
  ]);
}

async function storeAnswer(
  settings: ServeSettings,
  server: RunningServer | null,
  isHeld: boolean,
): Promise<Answer> {
  const directory = resolve(settings.data);
  if (settings.databaseUrl !== undefined) return await databaseInUse(settings.databaseUrl);
  return isHeld ? storeOfServer(directory, settings, server) : storesAtRest(directory);
}

/** What cannot be looked at is complained about by the check that it belongs to. */
function lookedAt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

function settingsTogether(settings: ServeSettings, { masterKeys, gatewayKey }: ServeSecrets): Answer {
  const wrong = problemWith(settings, masterKeys, gatewayKey);
  return wrong === null ? ok("they fit together") : problem(wrong, "No server starts with them.");
}

function modelsOf(project: Project | null): Answer {
  if (project === null) return warning("not known: the project does not load", "Put that right first.");
  return models(project.models, process.env);
}
