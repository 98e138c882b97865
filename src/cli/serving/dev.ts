/** `bridle dev`: a server for those who write agents. It loads them again when they change, and open tasks do not notice. */

import { existsSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { ProjectPlace } from "../../project/load.ts";
import { shown } from "../../project/load-problem.ts";
import type { ProjectModules } from "../../project/modules.ts";
import { Reloader } from "../../project/reload.ts";
import { createReadableLogger } from "../../server/logger.ts";
import { type Server, startServer } from "../../server/server.ts";
import { version } from "../../version.ts";
import { programName } from "../program-name.ts";
import { knownSecrets, type Serving, serverConfigOf } from "../settings/server-config.ts";
import { styleFor } from "../terminal/style.ts";
import { consoleLine } from "./console-link.ts";
import { crashOf } from "./crash.ts";
import { freePort } from "./free-port.ts";
import { interrupted, reloadOnHangup } from "./listening.ts";
import { agentsOf, listenToRejections, otherAddressLines, stopWhenAsked, whereToFind } from "./running.ts";
import { reportTasks } from "./task-lines.ts";

export interface Development {
  place: ProjectPlace;
  modules: ProjectModules;
  command: Command;
}

/** `environment` is what the command was started with. */
export async function dev(
  given: Serving,
  { place, modules, command }: Development,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const serving = { ...given, settings: await withFreePorts(given.settings, command) };
  const { settings, project } = serving;
  const logger = createReadableLogger(settings.logLevel, knownSecrets(serving));
  const config = serverConfigOf(serving, logger);
  const builtInAgents = settings.builtInAgents === "auto" ? "on" : settings.builtInAgents;
  // It is asked for when the server is there.
  const crash = crashOf({ settings, environment, addresses: () => server });
  const server: Server = await startServer({ ...config, builtInAgents, agentsMayChange: true, crash });
  const asked = interrupted();
  reloadOnHangup(server);
  listenToRejections(server, logger);
  const tell = (line: string) => process.stdout.write(`${line}\n`);
  tell(greeting(server, serving));
  const style = styleFor({ isTerminal: process.stdout.isTTY === true, env: process.env });
  const stopReporting = reportTasks(server, style, tell);
  const reloader = await Reloader.start({
    place,
    modules,
    project,
    replaceAgents: (agents) => server.replaceAgents(agents),
    tell,
    complain: (line) => process.stderr.write(`${line}\n`),
  });
  flushCompileCache();
  await stopWhenAsked(asked, server, settings.graceMs, () => {
    stopReporting();
    return reloader.close();
  });
}

/** For somebody who sees it for the first time: one address and what to do with it. Who debugs is told the rest. */
function greeting(server: Server, serving: Serving): string {
  const { settings, project } = serving;
  const isAlone = project.file === null;
  const where = whereToFind(settings);
  const key =
    server.adminKey.origin === "setting" ? "the API key is the one you set" : "API key in admin.key";
  const agents = agentsOf(serving);
  const first = project.agents[0]?.agent.name;
  const isDebugging = settings.logLevel === "debug" || settings.logLevel === "trace";
  return `
Bridle ${version} is ready, for development.

  URL       ${server.url}
${consoleLine(server, settings)}${isDebugging ? `\n${otherAddressLines(server)}` : ""}

  Try, in a second terminal in this folder:
${advice([
  [`tour${where}`, "see what it does, in a minute"],
  [`shell${where}`, "talk to an agent"],
  first !== undefined && [`task submit ${first} hello --watch${where}`, "give one work, and watch it"],
  isAlone && ["init my-agents", "make a project of your own"],
])}

${lines([
  project.file !== null &&
    `Project   ${shown(project.file)}; agents are loaded again when their files change`,
  agents !== "" && `Agents    ${agents}`,
  isAlone && existsSync("agents") && "Agents    not those in agents/: make a bridle.config.ts beside it",
  `Data      ${resolve(settings.data)} (${key})`,
  "Stop with Ctrl-C.",
])}
`;
}

function lines(given: readonly (string | false)[]): string {
  return given.flatMap((line) => (line === false ? [] : [`  ${line}`])).join("\n");
}

/** Commands, with what they are for beside them. */
function advice(given: readonly ([command: string, what: string] | false)[]): string {
  const commands = given.filter((row) => row !== false);
  const width = Math.max(...commands.map(([command]) => command.length)) + 2;
  return lines(commands.map(([command, what]) => `  ${programName} ${command.padEnd(width)}${what}`));
}

/** Two projects side by side are usual, so the usual ports make way. Those that somebody chose do not. */
async function withFreePorts(settings: Serving["settings"], command: Command): Promise<Serving["settings"]> {
  const isUsual = (name: string) => command.getOptionValueSource(name) === "default";
  const { host, port, grpcPort } = settings;
  return {
    ...settings,
    port: isUsual("port") ? await nextFree("Port", host, port) : port,
    grpcPort:
      isUsual("grpcPort") && grpcPort !== "off" ? await nextFree("gRPC port", host, grpcPort) : grpcPort,
  };
}

async function nextFree(what: string, host: string, usual: number): Promise<number> {
  const port = await freePort(host, usual);
  if (port !== usual)
    process.stdout.write(`${what} ${usual} is in use; using ${port === 0 ? "another one" : port} instead.\n`);
  return port;
}
