/** The settings of `bridle gateway`, and the command, which loads what it needs when it is called. */

import { type Command, Option } from "commander";
import { defaultConfig } from "../../server/config.ts";
import { type HarpSettings, harpOptions } from "../settings/gateway-options.ts";
import {
  allowedHostsOption,
  apiKeyOption,
  authFailuresOption,
  hostOption,
  insecureHttpOption,
  type ListenSettings,
  logLevelOption,
  problemWithListening,
  tlsFileOptions,
  trustProxyOption,
} from "../settings/listen-options.ts";
import { notEmpty, wholeNumber } from "../settings/option-parsers.ts";

export interface GatewayCommandSettings extends ListenSettings, HarpSettings {}

const portDefault = 8090;
const dataDefault = "./.bridle-gateway";

export const gatewayOptions: readonly Option[] = [
  new Option("--port <number>", "port to listen on; 0 lets the system choose")
    .env("BRIDLE_GATEWAY_PORT")
    .default(portDefault)
    .argParser(wholeNumber(0, 65_535)),
  hostOption(defaultConfig.host),
  ...tlsFileOptions(),
  insecureHttpOption(),
  new Option("--data <directory>", "where exchanges and keys are kept")
    .env("BRIDLE_GATEWAY_DATA")
    .default(dataDefault)
    .argParser(notEmpty),
  apiKeyOption(),
  authFailuresOption(defaultConfig.authFailuresMax),
  trustProxyOption(),
  allowedHostsOption(),
  logLevelOption(),
  ...harpOptions,
];

export function addGatewayCommand(program: Command): void {
  const command = program
    .command("gateway")
    .description("Start the HARP gateway alone: it passes requests for approval on and cannot read them.")
    .action(async (settings: GatewayCommandSettings) => {
      const problem = problemWithListening(settings);
      if (problem !== null) command.error(`error: ${problem}`);
      // The other commands do not need it.
      const { runGateway } = await import("../serving/gateway.ts");
      await runGateway(settings);
    });
  for (const option of gatewayOptions) command.addOption(option);
}
