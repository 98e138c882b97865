/** `bridle workspace`, `bridle connector` and `bridle webhook`: where work belongs, and how other systems hear and send. */

import { type Command, Option } from "commander";
import type { Connector, PushConfig, Workspace } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { remoteCommand, type Settings, taskCommand } from "../task/command.ts";
import { momentText } from "../terminal/duration.ts";
import { show } from "../terminal/output.ts";
import {
  addListAndShow,
  type Field,
  itemText,
  listText,
  type ResourceView,
  said,
  tableText,
} from "./view.ts";

const workspaceView: ResourceView<Workspace> = {
  noun: "workspace",
  plural: "workspaces",
  all: ({ workspaces }) => workspaces.all(),
  get: ({ workspaces }, id) => workspaces.get(id),
  fields: [
    { name: "Workspace", isColumn: true, of: ({ id }) => id },
    { name: "Name", isColumn: true, of: ({ name }) => name },
    { name: "Root", isColumn: true, of: ({ root }) => root },
    { name: "Capabilities", of: ({ capabilities }) => listText(capabilities) },
    { name: "Quota", isColumn: true, of: ({ quota_id }) => quota_id },
    { name: "Created", of: ({ created_at }) => momentText(created_at) },
  ],
};

interface WorkspaceSettings extends Settings {
  name?: string;
  capability?: string[];
  quota?: string;
}

export function addWorkspaceCommands(program: Command): void {
  const workspace = program
    .command("workspace")
    .description("Workspaces: the directories and limits that sessions and tasks belong to.");
  addListAndShow(workspace, workspaceView);
  remoteCommand(workspace, "create <name>", "Create a workspace.", [
    "bridle workspace create shop --root /srv/shop --quota quota_01HV…",
  ])
    .requiredOption("--root <directory>", "the directory of its files, on the server")
    .option("--capability <name...>", "allow only these, such as files:read; all without it")
    .option("--quota <id>", "the quota that its tasks count towards")
    .action(async (name: string, settings: WorkspaceSettings & { root: string }) => {
      const request = { name, root: settings.root, ...workspaceChanges(settings) };
      const made = await new Remote(settings).client.workspaces.create(request);
      show(settings, made, () => itemText(workspaceView, made));
    });
  remoteCommand(workspace, "update <workspace>", "Change a workspace. What is not given stays.")
    .option("--name <name>", "its new name")
    .option("--capability <name...>", "allow only these; replaces all that it has")
    .option("--quota <id>", "the quota that its tasks count towards, or none")
    .action(async (id: string, settings: WorkspaceSettings, command: Command) => {
      const changes = workspaceChanges(settings);
      if (Object.keys(changes).length === 0) {
        command.error("error: nothing to change: give --name, --capability or --quota.");
      }
      const changed = await new Remote(settings).client.workspaces.update(id, changes);
      show(settings, changed, () => itemText(workspaceView, changed));
    });
}

function workspaceChanges({ name, capability, quota }: WorkspaceSettings) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(capability === undefined ? {} : { capabilities: capability }),
    ...(quota === undefined ? {} : { quota_id: quota === "none" ? null : quota }),
  };
}

const connectorView: ResourceView<Connector> = {
  noun: "connector",
  plural: "connectors",
  make: "bridle connector create",
  isInWorkspace: true,
  all: ({ connectors }, filter) => connectors.all(filter),
  get: ({ connectors }, id) => connectors.get(id),
  fields: [
    { name: "Connector", isColumn: true, of: ({ id }) => id },
    { name: "Status", isColumn: true, of: ({ status }) => status },
    { name: "Workspace", isColumn: true, of: ({ workspace_id }) => workspace_id },
    { name: "Persona", isColumn: true, of: ({ target_persona_id }) => target_persona_id },
    { name: "Session", of: ({ target_session_id }) => target_session_id },
    { name: "Events", isColumn: true, of: ({ event_kinds }) => listText(event_kinds) ?? "all" },
    { name: "Deliveries", of: ({ id }) => `POST /v1/connectors/${id}/deliveries` },
    { name: "Repeats", of: ({ dedupe_policy }) => `ignored for ${dedupe_policy.window_seconds} s` },
    { name: "Secret", of: ({ secret }) => secret ?? null },
  ],
};

interface ConnectorSettings extends Settings {
  workspace: string;
  persona?: string;
  session?: string;
  event?: string[];
  provider: "webhook" | "github";
  emits?: "task" | "message" | "event";
}

export function addConnectorCommands(program: Command): void {
  const connector = program
    .command("connector")
    .description("Connectors: signed deliveries of other systems that become tasks.");
  addListAndShow(connector, connectorView);
  remoteCommand(connector, "create", "Create a connector. Its signing secret is shown this once.", [
    "bridle connector create --persona persona_triage --event issue.opened",
  ])
    .addOption(
      new Option("--provider <name>", "who sends; slack and polling take settings of their own, over the API")
        .choices(["webhook", "github"])
        .default("webhook"),
    )
    .addOption(
      new Option("--emits <what>", "what a delivery becomes (default: task)").choices([
        "task",
        "message",
        "event",
      ]),
    )
    .option("--workspace <id>", "where its tasks belong", "workspace_default")
    .option("--persona <id>", "whose tasks they are; without it, of the personas with a trigger for it")
    .option("--session <id>", "the session that its tasks go to")
    .option("--event <kind...>", "take only deliveries of these kinds")
    .action(async (settings: ConnectorSettings) => {
      const { workspace, persona, session, event, provider, emits } = settings;
      const made = await new Remote(settings).client.connectors.create({
        ...{ provider, workspace_id: workspace },
        ...(emits === undefined ? {} : { emits }),
        ...(persona === undefined ? {} : { target_persona_id: persona }),
        ...(session === undefined ? {} : { target_session_id: session }),
        ...(event === undefined ? {} : { event_kinds: event }),
      });
      show(
        settings,
        made,
        () => `${itemText(connectorView, made)}Keep the secret now: it is not shown again.\n`,
      );
    });
  const statuses = { pause: "PAUSED", resume: "ACTIVE" } as const;
  for (const verb of ["pause", "resume"] as const) {
    const description = verb === "pause" ? "Refuse deliveries from now on." : "Take deliveries again.";
    remoteCommand(connector, `${verb} <connector>`, description).action(
      async (id: string, settings: Settings) => {
        const changed = await new Remote(settings).client.connectors.update(id, { status: statuses[verb] });
        said(settings, changed, `${changed.id} is ${changed.status}.`);
      },
    );
  }
  remoteCommand(connector, "delete <connector>", "Delete a connector and its secret.").action(
    async (id: string, settings: Settings) => {
      await new Remote(settings).client.connectors.delete(id);
      said(settings, { id, deleted: true }, `${id} is deleted.`);
    },
  );
}

const webhookFields: readonly Field<PushConfig>[] = [
  { name: "Webhook", isColumn: true, of: ({ config_id }) => config_id },
  { name: "State", isColumn: true, of: ({ state }) => state },
  { name: "Delivered", isColumn: true, of: ({ delivered_count }) => String(delivered_count) },
  { name: "Attempts", isColumn: true, of: ({ attempts }) => String(attempts) },
  { name: "Next", isColumn: true, of: ({ next_attempt_at: at }) => (at === null ? null : momentText(at)) },
  { name: "URL", isColumn: true, of: ({ url }) => url },
  { name: "Last error", isColumn: true, of: ({ last_error }) => last_error },
];

export function addWebhookCommands(program: Command): void {
  const webhook = program
    .command("webhook")
    .description("The webhooks of tasks, which A2A clients register: how their deliveries go.");
  taskCommand(webhook, "list", "List the webhooks of a task.", ["bridle webhook list last"]).action(
    async (named: string, settings: Settings) => {
      const { client } = new Remote(settings);
      const { taskIdOf } = await import("../task/find-task.ts");
      const webhooks = await client.tasks.webhooks(await taskIdOf(client, named));
      show(settings, webhooks, () => tableText({ plural: "webhooks", fields: webhookFields }, webhooks));
    },
  );
}
