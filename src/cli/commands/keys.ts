/** `bridle keys`: the keys that receipts are signed with. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";

type Settings = RemoteSettings & JsonSettings;

export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("The keys that receipts are signed with.");
  withRemoteOptions(
    withJson(
      keys.command("rotate").description("Sign with a new key from now on. Old receipts still verify."),
    ),
  ).action(async (settings: Settings) => {
    const key = await new Remote(settings).json<{ id: string }>("POST", "/v1/signing-keys/rotate");
    show(settings, key, () => `Receipts are signed with ${oneLine(key.id)} from now on.\n`);
  });
  withRemoteOptions(
    keys
      .command("list")
      .description("The public keys, past and present, as a JWK set.")
      .option("--json", "the same: a JWK set is JSON"),
  ).action(async (settings: Settings) => {
    const set = await new Remote(settings).json("GET", "/.well-known/jwks.json");
    show({ json: true }, set, () => "");
  });
}
