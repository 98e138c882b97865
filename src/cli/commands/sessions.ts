/** `bridle session`: the conversations that tasks belong to. */

import type { Command } from "commander";
import type { CreateSession, ForkSession, Message, Session } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { type Limits, remoteCommand, type Settings, withLimit } from "../task/command.ts";
import { partText } from "../task/facts.ts";
import { ageText, momentText } from "../terminal/duration.ts";
import { show } from "../terminal/output.ts";
import { styleOf } from "../terminal/style.ts";
import { facts, table } from "../terminal/table.ts";
import { escapedJson, oneLine, quoted } from "../terminal/text.ts";

export function addSessionCommands(program: Command): void {
  const session = program
    .command("session")
    .alias("sessions")
    .description("The conversations that tasks belong to.")
    .addHelpText("after", "\nA session is named by its id, or by `last` for the newest.");
  addList(session);
  addLooking(session);
  addMaking(session);
}

function addList(session: Command): void {
  withLimit(remoteCommand(session, "list", "Sessions, newest first.", ["bridle session list --limit 5"]))
    .option("--workspace <id>", "only those of this workspace")
    .action(async ({ workspace, ...settings }: Settings & Limits & { workspace?: string }) => {
      const { client } = new Remote(settings);
      const { moreHint, taken } = await import("../task/list.ts");
      const filter = workspace === undefined ? {} : { workspaceId: workspace };
      const { items, isMore } = await taken(client.sessions.all({ ...filter, limit: 100 }), settings);
      show(settings, items, () => (items.length === 0 ? "No sessions.\n" : sessionTable(items)));
      if (isMore && settings.json !== true) process.stderr.write(moreHint);
    });
}

function addLooking(session: Command): void {
  remoteCommand(session, "show <session>", "One session and its newest tasks.", [
    "bridle session show last",
  ]).action(async (named: string, settings: Settings) => {
    const { client, id } = await found(named, settings);
    const shown = await client.sessions.get(id);
    if (settings.json === true) return show(settings, shown, () => "");
    const { taskTable } = await import("../task/list.ts");
    const { items } = await client.tasks.list({ sessionId: id, limit: 10 });
    const tasks = items.length === 0 ? "No tasks.\n" : taskTable(items, Date.now());
    process.stdout.write(`${sessionText(shown)}${tasks}`);
  });
  remoteCommand(session, "messages <session>", "What was said, oldest first; with --json, JSON lines.", [
    "bridle session messages last",
  ]).action(async (named: string, settings: Settings) => {
    const { client, id } = await found(named, settings);
    for await (const message of client.sessions.allMessages(id)) {
      process.stdout.write(settings.json === true ? `${escapedJson(message)}\n` : messageText(message));
    }
  });
}

function addMaking(session: Command): void {
  remoteCommand(session, "create", "Make a session. Prints its id.", ["bridle session create"])
    .option("--workspace <id>", "where it belongs; the default workspace otherwise")
    .option("--persona <id>", "whose tasks are done in it, unless they say")
    .action(async (settings: Settings & { workspace?: string; persona?: string }) => {
      const { workspace, persona } = settings;
      const request: CreateSession = {
        ...(workspace === undefined ? {} : { workspaceId: workspace }),
        ...(persona === undefined ? {} : { personaId: persona }),
      };
      const made = await new Remote(settings).client.sessions.create(request);
      show(settings, made, () => `${oneLine(made.id)}\n`);
    });
  remoteCommand(session, "close <session>", "Close a session; tasks that still run in it are canceled.", [
    "bridle session close last",
  ]).action(async (named: string, settings: Settings) => {
    const { client, id } = await found(named, settings);
    const closed = await client.sessions.close(id);
    show(settings, closed, () => `${oneLine(`${closed.id} is ${closed.state}`)}.\n`);
  });
  remoteCommand(session, "fork <session>", "A new session with what was said so far. Prints its id.", [
    "bridle session fork last",
  ])
    .option("--at-event <id>", "only what was said up to this event")
    .action(async (named: string, settings: Settings & { atEvent?: string }) => {
      const { client, id } = await found(named, settings);
      const request: ForkSession = settings.atEvent === undefined ? {} : { atEventId: settings.atEvent };
      const forked = await client.sessions.fork(id, request);
      show(settings, forked, () => `${oneLine(forked.id)}\n`);
    });
}

async function found(named: string, settings: Settings) {
  const { client } = new Remote(settings);
  const { sessionIdOf } = await import("../task/find-task.ts");
  return { client, id: await sessionIdOf(client, named) };
}

function sessionTable(sessions: readonly Session[]): string {
  const now = Date.now();
  const rows = sessions.map(({ id, state, workspace_id, created_at, summary }) => [
    id,
    state,
    ageText(now - Date.parse(created_at)),
    workspace_id,
    summary ?? "",
  ]);
  return table(["SESSION", "STATE", "AGE", "WORKSPACE", "SUMMARY"], rows);
}

function sessionText({ id, state, workspace_id, persona_id, created_at, summary }: Session): string {
  const rows: [string, string | null][] = [
    ["Session", id],
    ["State", state],
    ["Workspace", workspace_id],
    ["Persona", persona_id],
    ["Created", momentText(created_at)],
    ["Summary", summary],
  ];
  return facts(rows);
}

function messageText({ role, parts, created_at }: Message): string {
  const head = `${styleOf().strong(oneLine(role))}  ${momentText(created_at)}`;
  return `${head}\n${quoted(parts.map(partText).join("\n"))}`;
}
