/** `bridle persona` and `bridle schedule`: what agents may do, and when they work by themselves. */

import { type Command, Option } from "commander";
import type { BridleClient, Persona } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { remoteCommand, type Settings } from "../task/command.ts";
import { givenJson } from "../task/given-json.ts";
import { momentText } from "../terminal/duration.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import { addListAndShow, listText, type ResourceView, said } from "./view.ts";

/** Objects of settings, in a line each. */
const inLine = (value: unknown) => (value === undefined ? null : escapedJson(value));

const personaView: ResourceView<Persona> = {
  noun: "persona",
  plural: "personas",
  all: ({ personas }) => personas.all(),
  get: ({ personas }, id) => personas.get(id),
  fields: [
    { name: "Persona", isColumn: true, of: ({ id }) => id },
    { name: "Name", isColumn: true, of: ({ name }) => name },
    { name: "Version", isColumn: true, of: ({ version }) => version },
    { name: "Agent", isColumn: true, of: ({ entry_workflow }) => entry_workflow },
    { name: "Tier", isColumn: true, of: ({ autonomy_tier }) => autonomy_tier },
    { name: "Asks from", isColumn: true, of: ({ approval_policy }) => approval_policy?.ask_from ?? null },
    { name: "State", isColumn: true, of: ({ disabled }) => (disabled === true ? "disabled" : "enabled") },
    { name: "Does", of: ({ description }) => description },
    { name: "Tools", of: ({ tools }) => listText(tools) },
    { name: "Capabilities", of: ({ capabilities }) => listText(capabilities) },
    { name: "Hands off to", of: ({ handoffs }) => listText(handoffs) },
    { name: "Models", of: ({ model_policy }) => inLine(model_policy) },
    { name: "Approvals", of: ({ approval_policy }) => inLine(approval_policy) },
    { name: "Schedules", of: ({ schedules = [] }) => listText(schedules.map(({ cron }) => `"${cron}"`)) },
    { name: "Triggers", of: ({ triggers = [] }) => listText(triggers.map((one) => one.connector_id)) },
    { name: "Quota", of: ({ quota_id }) => quota_id ?? null },
    { name: "Waits", of: ({ pending_change: change }) => inLine(change?.changes) },
  ],
};

export function addPersonaCommands(program: Command): void {
  const persona = program
    .command("persona")
    .description("Personas: under which policy an agent works, what it may do and what it must ask.");
  addListAndShow(persona, personaView);
  remoteCommand(
    persona,
    "edit <persona>",
    "Change a persona in $EDITOR. Shows the difference before it is saved.",
    [
      "bridle persona edit persona_releaser",
      "bridle persona edit persona_releaser --file persona.yaml --yes",
    ],
  )
    .option("--file <path>", "take this YAML or JSON file instead of opening an editor")
    .option("--yes", "save without asking")
    .action(async (id: string, settings: Settings & { file?: string; yes?: true }) => {
      const { editPersona } = await import("./persona-edit.ts");
      const { client } = new Remote(settings);
      const changed = await editPersona(client, id, settings);
      if (changed === null) said(settings, await client.personas.get(id), "Nothing was changed.");
      else said(settings, changed, savedText(changed));
    });
  remoteCommand(persona, "create <file>", "Create a persona from a YAML or JSON file with its fields.", [
    "bridle persona create releaser.yaml",
  ]).action(async (file: string, settings: Settings) => {
    const { personaIn } = await import("./persona-edit.ts");
    const made = await new Remote(settings).client.personas.create(await personaIn(file));
    said(settings, made, made.id);
  });
  remoteCommand(persona, "withdraw <persona>", "Withdraw a change that waits for approvers.").action(
    async (id: string, settings: Settings) => {
      const kept = await new Remote(settings).client.personas.withdraw(id);
      said(settings, kept, `${kept.id} stays at version ${kept.version}.`);
    },
  );
}

function savedText({ id, version, pending_change }: Persona): string {
  return pending_change === undefined
    ? `${id} has version ${version}, for tasks that are submitted from now on.`
    : `The change of ${id} waits for its approvers (\`bridle approver inbox\`); until then version ${version} counts.`;
}

type Schedule = NonNullable<Persona["schedules"]>[number];

/** A schedule with the persona that it belongs to. */
interface OwnedSchedule extends Schedule {
  id: string;
  persona_id: string;
  /** By this machine's clock; the server's decides. */
  next_at: string | null;
}

const scheduleView: ResourceView<OwnedSchedule> = {
  noun: "schedule",
  plural: "schedules",
  make: "bridle schedule create",
  all: allSchedules,
  get: async (client, id) => (await findSchedule(client, id)).schedule,
  fields: [
    { name: "Schedule", isColumn: true, of: ({ id }) => id },
    { name: "Persona", isColumn: true, of: ({ persona_id }) => persona_id },
    { name: "Cron", isColumn: true, of: ({ cron }) => cron },
    { name: "Time zone", isColumn: true, of: ({ time_zone }) => time_zone ?? "UTC" },
    { name: "Next", isColumn: true, of: nextText },
    { name: "Input", isColumn: true, of: ({ input }) => inLine(input) },
    { name: "Workspace", of: ({ workspace_id }) => workspace_id ?? null },
    { name: "Session", of: ({ session_id }) => session_id ?? null },
  ],
};

interface CreateSchedule extends Settings {
  cron: string;
  timeZone?: string;
  input?: string;
  workspace?: string;
  session?: string;
}

export function addScheduleCommands(program: Command): void {
  const schedule = program
    .command("schedule")
    .description("Schedules: tasks that personas get at set times.");
  addListAndShow(schedule, scheduleView);
  remoteCommand(schedule, "create <persona>", "Create a schedule. Prints its id.", [
    'bridle schedule create persona_nightly --cron "0 2 * * *"',
  ])
    .requiredOption("--cron <expression>", "when: minute, hour, day, month, weekday")
    .option("--time-zone <name>", "an IANA name; UTC without it")
    .option("--input <json>", "what each task is given: a JSON object, @FILE, or - for standard input")
    .addOption(new Option("--workspace <id>", "where its tasks belong").conflicts("session"))
    .option("--session <id>", "the session of its tasks; one of its own without it")
    .action(async (personaId: string, settings: CreateSchedule) => {
      const { cron, timeZone, input, workspace, session } = settings;
      const { client } = new Remote(settings);
      const created: Schedule = {
        cron,
        ...(timeZone === undefined ? {} : { time_zone: timeZone }),
        ...(input === undefined ? {} : { input: await givenJson(input, "--input") }),
        ...(workspace === undefined ? {} : { workspace_id: workspace }),
        ...(session === undefined ? {} : { session_id: session }),
      };
      const { schedules: before = [] } = await client.personas.get(personaId);
      const { schedules = [] } = await client.personas.update(personaId, { schedules: [...before, created] });
      const made = schedules.find(({ id }) => !before.some((known) => known.id === id));
      said(settings, made ?? null, made?.id ?? "The change waits for the persona's approvers.");
    });
  addChange(
    schedule,
    "pause",
    "Submit no tasks from now on. Ticks that pass meanwhile are skipped.",
    (one) => ({
      ...one,
      paused: true,
    }),
  );
  addChange(schedule, "resume", "Submit tasks again.", ({ paused: _, ...one }) => one);
  addChange(schedule, "delete", "Delete a schedule.", () => null);
}

/** Replaces one schedule of its persona, or takes it out. */
function addChange(
  parent: Command,
  verb: "pause" | "resume" | "delete",
  description: string,
  change: (schedule: Schedule) => Schedule | null,
): void {
  remoteCommand(parent, `${verb} <schedule>`, description).action(async (id: string, settings: Settings) => {
    const { client } = new Remote(settings);
    const { persona, schedule } = await findSchedule(client, id);
    const schedules = (persona.schedules ?? []).flatMap((one) =>
      one.id === id ? (change(one) ?? []) : [one],
    );
    await client.personas.update(persona.id, { schedules });
    const past = { pause: "paused", resume: "active again", delete: "deleted" }[verb];
    said(
      settings,
      { ...schedule, [verb === "delete" ? "deleted" : "paused"]: verb !== "resume" },
      `${id} is ${past}.`,
    );
  });
}

async function* allSchedules({ personas }: BridleClient): AsyncGenerator<OwnedSchedule> {
  for await (const persona of personas.all()) yield* await schedulesOf(persona);
}

async function schedulesOf({ id: persona_id, schedules = [] }: Persona): Promise<OwnedSchedule[]> {
  if (schedules.length === 0) return [];
  const { nextTick } = await import("../../kernel/schedules/schedules.ts");
  return schedules.flatMap(({ id, ...schedule }) => {
    if (id === undefined) return [];
    const next_at = schedule.paused === true ? null : nextTick(schedule, Date.now());
    return [{ id, persona_id, next_at, ...schedule }];
  });
}

async function findSchedule(
  { personas }: BridleClient,
  id: string,
): Promise<{ persona: Persona; schedule: OwnedSchedule }> {
  for await (const persona of personas.all()) {
    const schedule = (await schedulesOf(persona)).find((one) => one.id === id);
    if (schedule !== undefined) return { persona, schedule };
  }
  throw new Error(`there is no schedule ${oneLine(id)}. \`bridle schedule list\` lists them.`);
}

function nextText({ paused, next_at }: OwnedSchedule): string {
  if (paused === true) return "paused";
  return next_at === null ? "never" : momentText(next_at);
}
