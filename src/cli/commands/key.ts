/** `bridle key`: API keys, who has which, and what they may do. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { overlapSecondsDefault, overlapSecondsMax } from "../../policy/api-key.ts";
import type { ApiKey, CreateApiKeyRequest } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { addListAndShow, itemText } from "../resources/view.ts";
import { wholeNumber } from "../settings/option-parsers.ts";
import { remoteCommand, type Settings } from "../task/command.ts";
import { show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { addAdminKeyCommands } from "./admin-key.ts";
import { describeRevoked, keyView } from "./key-view.ts";

interface CreateSettings extends Settings {
  scope: string[];
  actor?: string;
  workspace?: string[];
  agent?: string[];
  persona?: string[];
  cidr?: string[];
  expires?: string | null;
  tenant?: string;
}

export function addApiKeyCommands(program: Command): void {
  const key = program.command("key").description("API keys: who may call, and what they may do.");
  addListAndShow(key, keyView);
  addCreate(key);
  addRotate(key);
  remoteCommand(
    key,
    "revoke <key>",
    "End an API key, its tokens, and the keys that it made, at once.",
  ).action(async (id: string, settings: Settings) => {
    const revoked = await new Remote(settings).client.apiKeys.revoke(id);
    show(settings, revoked, () => describeRevoked(revoked));
  });
  addAdminKeyCommands(key);
}

function addCreate(key: Command): void {
  remoteCommand(key, "create <name>", "Make an API key. It is shown this once.", [
    "bridle key create shop --scope tasks:write tasks:read --agent refunder",
    "bridle key create office --scope admin --cidr 10.1.0.0/16 --expires never",
  ])
    .requiredOption("--scope <scope...>", "what it may do")
    .option("--actor <name>", "who it stands for in the log; the key's name, unless given")
    .option("--workspace <id...>", "only these workspaces")
    .option("--agent <name...>", "only these agents")
    .option("--persona <id...>", "only these personas")
    .option("--cidr <range...>", "only from these addresses")
    .addOption(
      new Option(
        "--expires <time>",
        "when it ends, or never; without it after the server's --key-days",
      ).argParser(timeOrNever),
    )
    .option("--tenant <id>", "make it for this tenant")
    .action(async (name: string, settings: CreateSettings) => {
      const made = await new Remote(settings).client.apiKeys.create(requestOf(name, settings));
      show(settings, made, () => withSecret(made));
    });
}

function addRotate(key: Command): void {
  remoteCommand(key, "rotate <key>", "Replace the secret of an API key. The new one is shown this once.", [
    "bridle key rotate key_01HV…",
    "bridle key rotate key_01HV… --overlap-seconds 0",
  ])
    .addOption(
      new Option("--overlap-seconds <number>", "how long the old secret still works; 0 ends it at once")
        .default(overlapSecondsDefault)
        .argParser(wholeNumber(0, overlapSecondsMax)),
    )
    .action(async (id: string, settings: Settings & { overlapSeconds: number }) => {
      const { overlapSeconds } = settings;
      const rotated = await new Remote(settings).client.apiKeys.rotate(id, { overlapSeconds });
      show(settings, rotated, () => withSecret(rotated));
    });
}

function requestOf(name: string, settings: CreateSettings): CreateApiKeyRequest {
  const { scope: scopes, actor = name, workspace, agent, persona, cidr, expires, tenant } = settings;
  return {
    ...{ name, actor, scopes },
    ...(workspace === undefined ? {} : { workspace_ids: workspace }),
    ...(agent === undefined ? {} : { agent_names: agent }),
    ...(persona === undefined ? {} : { persona_ids: persona }),
    ...(cidr === undefined ? {} : { allowed_cidrs: cidr }),
    ...(expires === undefined ? {} : { expires_at: expires }),
    ...(tenant === undefined ? {} : { tenant_id: tenant }),
  };
}

/** The secret alone on the first line, so that a script can take it. */
function withSecret(key: ApiKey): string {
  const secret = key.key ?? "The key was shown before; rotate it to get a new secret.";
  return `${oneLine(secret)}\n\n${itemText(keyView, key)}Keep the key now: it is not shown again.\n`;
}

function timeOrNever(text: string): string | null {
  if (text === "never") return null;
  const at = new Date(text);
  if (/^\d{4}-/.test(text) && !Number.isNaN(at.getTime())) return at.toISOString();
  throw new InvalidArgumentError("It must be a time like 2027-01-01T00:00:00Z, or never.");
}
