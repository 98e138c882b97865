/** `bridle gc`: let old work leave the log now, or say what would go. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

interface Report {
  cutoff: string;
  tasks: number;
  messages: number;
  events: number;
  blobs: number;
  bytes: number;
}

export function addGcCommand(program: Command): void {
  withRemoteOptions(
    program
      .command("gc")
      .description("Let what is older than the server's --retain-days leave the log now.")
      .option("--dry-run", "only say what would go"),
  ).action(async (settings: RemoteSettings & { dryRun?: boolean }) => {
    const dry_run = settings.dryRun === true;
    const { cutoff, tasks, messages, events, blobs, bytes } = await new Remote(settings).json<Report>(
      "POST",
      "/v1/retention/sweep",
      { dry_run },
    );
    const what = `${tasks} tasks, ${messages} messages, ${events} events, ${blobs} blobs, about ${bytes} bytes`;
    process.stdout.write(`${dry_run ? "Would go" : "Gone"}: ${what}; all of it ended before ${cutoff}.\n`);
  });
}
