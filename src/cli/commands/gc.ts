/** `bridle gc`: delete old work now, or list what would be deleted. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, show, whileWaiting, withJson } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";

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
    withJson(
      program
        .command("gc")
        .description("Delete data older than the server's --retain-days now.")
        .option("--dry-run", "only say what would go"),
    ),
  ).action(async (settings: RemoteSettings & JsonSettings & { dryRun?: true }) => {
    const dry_run = settings.dryRun === true;
    const answer = new Remote(settings).json<Report>("POST", "/v1/retention/sweep", { dry_run });
    const report = await whileWaiting("seconds of sweeping", answer);
    const { cutoff, tasks, messages, events, blobs, bytes } = report;
    const what = `${tasks} tasks, ${messages} messages, ${events} events, ${blobs} blobs, about ${bytes} bytes`;
    show(settings, report, () => {
      return `${dry_run ? "Would go" : "Gone"}: ${what}; all of it ended before ${oneLine(cutoff)}.\n`;
    });
  });
}
