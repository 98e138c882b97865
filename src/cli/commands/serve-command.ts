/** `bridle serve` and `bridle dev`: the same settings and the same project, read here, and a server on them. */

import type { Command } from "commander";
import type { Development } from "../serving/dev.ts";
import type { FoundProject } from "../settings/find-project.ts";
import { takeSecrets } from "../settings/secret-files.ts";
import type { Serving } from "../settings/server-config.ts";
import { problemWith, type ServeSettings, serveOptions } from "../settings/settings.ts";

const environmentHelp = `
Secrets are read from files that variables ending in _FILE name
(BRIDLE_API_KEY_FILE=/run/secrets/bridle), or from the environment, where other
programs of the same user can read them. Agents and their programs see neither:
  BRIDLE_API_KEY          as --api-key
  BRIDLE_MASTER_KEY       what locks vaults: 32 bytes, as hex or base64
  BRIDLE_MASTER_KEY_PREVIOUS
                          the one before it, until bridle vault rotate
  BRIDLE_GATEWAY_KEY      the key for --gateway
  BRIDLE_DATABASE_URL     as --database-url

Models are set in the environment, or in bridle.config.ts:
  BRIDLE_MODEL            the model of agents that name none, as provider/model
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY
                          the keys of providers, or with _FILE the files
  BRIDLE_LOCAL_MODEL_URL  a server that speaks OpenAI's chat completions, as
                          provider "local"

Traces go to an OpenTelemetry collector when the environment names one:
  OTEL_EXPORTER_OTLP_ENDPOINT
                          where it is, as http://localhost:4318
  OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER
                          and the others of the standard
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true
                          also what is said to models and tools, and by them`;

export function addServeCommand(program: Command): void {
  addServingCommand(program, "serve", "Start the server.", async (serving) => {
    // The server is large; the other commands do not need it.
    const { serve } = await import("../serving/serve.ts");
    await serve(serving);
  });
}

export function addDevCommand(program: Command): void {
  addServingCommand(
    program,
    "dev",
    "Start the server for development: agents are loaded again when their files change.",
    async (serving, development, environment) => {
      const { dev } = await import("../serving/dev.ts");
      await dev(serving, development, environment);
    },
  );
}

function addServingCommand(
  program: Command,
  name: string,
  description: string,
  run: (serving: Serving, development: Development, environment: NodeJS.ProcessEnv) => Promise<void>,
): void {
  const command = program.command(name).description(description).addHelpText("after", environmentHelp);
  for (const option of serveOptions) command.addOption(option);
  command.action(async (given: ServeSettings) => {
    const environment = { ...process.env };
    // Before any code of the project runs.
    const secrets = takeSecrets(process.env);
    const { project, ...development } = await readProject(command, given);
    const settings = command.opts<ServeSettings>();
    const problem = problemWith(settings, secrets.masterKeys, secrets.gatewayKey);
    if (problem !== null) command.error(`error: ${problem}`);
    await run({ settings, secrets, project }, development, environment);
  });
}

/** What is wrong with the configuration is said as wrong use. */
export async function readProject(command: Command, given: ServeSettings): Promise<FoundProject> {
  const { ConfigProblem } = await import("../../project/check-config.ts");
  const { findProject } = await import("../settings/find-project.ts");
  try {
    return await findProject(command, given);
  } catch (error) {
    if (error instanceof ConfigProblem) command.error(`error: ${error.message}`);
    throw error;
  }
}
