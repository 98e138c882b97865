/** `bridle dev`: a server for those who write agents. It loads them again when they change, and open tasks do not notice. */

import { flushCompileCache } from "node:module";
import type { Command } from "commander";
import { defaultConfig } from "../config.ts";
import { createReadableLogger } from "../logger.ts";
import type { ProjectPlace } from "../project/load.ts";
import { shown } from "../project/load-problem.ts";
import type { ProjectModules } from "../project/modules.ts";
import { Reloader } from "../project/reload.ts";
import { startServer } from "../server.ts";
import { version } from "../version.ts";
import { freePort } from "./free-port.ts";
import { addressLines, listenToRejections, stopWhenAsked } from "./running.ts";
import { knownSecrets, type Serving, serverConfigOf } from "./server-config.ts";

export interface Development {
  place: ProjectPlace;
  modules: ProjectModules;
  command: Command;
}

export async function dev(given: Serving, { place, modules, command }: Development): Promise<void> {
  const serving = { ...given, settings: await withFreePorts(given.settings, command) };
  const { settings, project } = serving;
  const logger = createReadableLogger(settings.logLevel, knownSecrets(serving));
  const server = await startServer({ ...serverConfigOf(serving, logger), agentsMayChange: true });
  listenToRejections(server, logger);
  const tell = (line: string) => process.stdout.write(`${line}\n`);
  const where =
    project.file === null
      ? "none here: make a bridle.config.ts, and agents in agents/"
      : `${shown(project.file)}; agents are loaded again when their files change`;
  // The shell looks where the server usually is.
  const { host, port, dataDirectory } = defaultConfig;
  const talking = [
    ...(server.url === `http://${host}:${port}` ? [] : ["--url", server.url]),
    ...(settings.data === dataDirectory ? [] : ["--data", settings.data]),
  ];
  tell(`
Bridle ${version} is ready, for development.

${addressLines(server, serving)}
  Project   ${where}

  Talk to an agent: bridle shell${talking.length === 0 ? "" : ` ${talking.join(" ")}`}. Stop with Ctrl-C.
`);
  const reloader = await Reloader.start({
    place,
    modules,
    project,
    replaceAgents: (agents) => server.replaceAgents(agents),
    tell,
    complain: (line) => process.stderr.write(`${line}\n`),
  });
  flushCompileCache();
  await stopWhenAsked(server, settings.graceMs, () => reloader.close());
}

/** Two projects side by side are usual, so the usual ports make way. Those that somebody chose do not. */
async function withFreePorts(settings: Serving["settings"], command: Command): Promise<Serving["settings"]> {
  const isUsual = (name: string) => command.getOptionValueSource(name) === "default";
  const { host, port, grpcPort } = settings;
  return {
    ...settings,
    port: isUsual("port") ? await nextFree("port", host, port) : port,
    grpcPort:
      isUsual("grpcPort") && grpcPort !== "off" ? await nextFree("gRPC port", host, grpcPort) : grpcPort,
  };
}

async function nextFree(what: string, host: string, usual: number): Promise<number> {
  const port = await freePort(host, usual);
  if (port !== usual) process.stdout.write(`The usual ${what}, ${usual}, is taken: another one it is.\n`);
  return port;
}
