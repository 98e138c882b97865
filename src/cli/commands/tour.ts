/** `bridle tour`: its options. The tour itself is loaded when it is asked for. */

import type { Command } from "commander";
import { type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, withJson } from "../terminal/output.ts";

export interface TourSettings extends RemoteSettings, JsonSettings {
  crash?: true;
  yes?: true;
  keep?: string;
}

export function addTourCommand(program: Command): void {
  const command = program
    .command("tour")
    .description(
      "See it work in a minute: an agent, a question, an approval and a receipt, with a script in the place of a model. " +
        "Uses the server that runs here, or one of its own.",
    )
    .option("--crash", "kill a server of its own in the middle of it, and see the task go on")
    .option("--yes", "answer prompts automatically (implied without a TTY)")
    .option("--keep <directory>", "keep what is written, the receipt above all, in a new directory");
  withRemoteOptions(withJson(command)).action(async (settings: TourSettings) => {
    if (settings.crash && settings.url !== undefined) {
      command.error(
        "error: --crash kills a server of its own, and no other: leave --url and BRIDLE_URL out.",
      );
    }
    const { runTour } = await import("../tour/run-tour.ts");
    process.exitCode = await runTour(settings);
  });
}
