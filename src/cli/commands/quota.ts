/** `bridle quota`: limits, what is used of them, and what is left. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { limitNames, quotaScopes, resetWindows } from "../../kernel/kinds/quota.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { describeQuota, listQuotas, type Quota } from "./quota-view.ts";

type Settings = RemoteSettings & JsonSettings;

interface SetSettings extends Settings {
  id?: string;
  scope?: string;
  reset?: string;
  onExhaustion?: string;
  watchOnly?: boolean;
}

const path = "/v1/quotas";
const pathOf = (id: string) => `${path}/${encodeURIComponent(id)}`;

export function addQuotaCommands(program: Command): void {
  const quota = program
    .command("quota")
    .description("Limits of what tasks may use, and what is left of them.");
  withRemoteOptions(
    withJson(quota.command("list").description("Every quota, with what is used of it and what is left.")),
  ).action(async (settings: Settings) => {
    const quotas: Quota[] = [];
    for await (const item of new Remote(settings).items<Quota>(path)) quotas.push(item);
    show(settings, quotas, () => listQuotas(quotas));
  });
  withRemoteOptions(withJson(quota.command("show <quota>").description("One quota, limit by limit."))).action(
    async (id: string, settings: Settings) => {
      const found = await new Remote(settings).json<Quota>("GET", pathOf(id));
      show(settings, found, () => describeQuota(found));
    },
  );
  addSet(quota);
  withRemoteOptions(
    withJson(quota.command("delete <quota>").description("Delete a quota: it limits nothing any more.")),
  ).action(async (id: string, settings: Settings) => {
    const deleted = await new Remote(settings).json<Quota>("DELETE", pathOf(id));
    show(settings, deleted, () => `${oneLine(deleted.id)} limits nothing any more.\n`);
  });
}

function addSet(quota: Command): void {
  const command = withRemoteOptions(
    withJson(
      quota
        .command("set")
        .description("Make a quota or, with --id, change one. What is used stays counted.")
        .argument("[limits...]", `limits as NAME=NUMBER: ${limitNames.join(", ")}`, addLimit)
        .option("--id <quota>", "change this one; the limits that are given replace all that it has")
        .addOption(
          new Option(
            "--scope <scope>",
            "what a new one is for. One of a persona or a workspace holds once that names it (quota_id)",
          ).choices(quotaScopes),
        )
        .addOption(
          new Option("--reset <window>", "begin to count anew with each of these; never at none").choices([
            ...resetWindows,
            "none",
          ]),
        )
        .addOption(
          new Option("--on-exhaustion <what>", "whether a task at a limit ends, or asks to go on").choices([
            "end",
            "ask",
          ]),
        )
        .option("--watch-only", "say when a limit is passed, and refuse nothing")
        .option("--no-watch-only", "enforce the limit (default)")
        .addHelpText(
          "after",
          `
Examples:
  bridle quota set usd=50 output_tokens=2000000 --scope tenant --reset month
  bridle quota set concurrency=8 --id quota_01HV…`,
        ),
    ),
  );
  command.action(async (given: Record<string, number>, settings: SetSettings) => {
    // None is given as an empty list.
    const limits = Object.keys(given).length === 0 ? undefined : given;
    const problem = problemWith(limits, settings);
    if (problem !== null) command.error(`error: ${problem}`);
    const { id, scope, reset, onExhaustion, watchOnly } = settings;
    const body = {
      ...(limits === undefined ? {} : { limits }),
      ...(id === undefined ? { scope } : {}),
      ...(reset === undefined ? {} : { reset_window: reset === "none" ? null : reset }),
      ...(onExhaustion === undefined ? {} : { on_exhaustion: onExhaustion }),
      ...(watchOnly === undefined ? {} : { soft_limit: watchOnly }),
    };
    const remote = new Remote(settings);
    const set = await (id === undefined
      ? remote.json<Quota>("POST", path, body)
      : remote.json<Quota>("PATCH", pathOf(id), body));
    show(settings, set, () => describeQuota(set));
  });
}

function problemWith(limits: object | undefined, { id, scope, ...rest }: SetSettings): string | null {
  const isChanged = [rest.reset, rest.onExhaustion, rest.watchOnly].some((value) => value !== undefined);
  if (id !== undefined && scope !== undefined) return "a quota keeps its scope: give --id or --scope.";
  if (id !== undefined && limits === undefined && !isChanged) return "say what is to be changed.";
  if (id === undefined && scope === undefined)
    return "say with --scope what the quota is for, or with --id which to change.";
  if (id === undefined && limits === undefined) return "a quota needs a limit, such as usd=50.";
  return null;
}

function addLimit(text: string, before: Record<string, number> = {}): Record<string, number> {
  const [, name = "", amount = ""] = /^([a-z_]+)=(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (!limitNames.some((known) => known === name)) {
    throw new InvalidArgumentError(`It must be NAME=NUMBER, with one of ${limitNames.join(", ")}.`);
  }
  return { ...before, [name]: Number(amount) };
}
