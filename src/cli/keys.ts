/** `bridle keys`: the keys that receipts are signed with. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("The keys that receipts are signed with.");
  withRemoteOptions(
    keys.command("rotate").description("Sign with a new key from now on. Old receipts still verify."),
  ).action(async (settings: RemoteSettings) => {
    const { id } = await new Remote(settings).json<{ id: string }>("POST", "/v1/signing-keys/rotate");
    process.stdout.write(`Receipts are signed with ${id} from now on.\n`);
  });
  withRemoteOptions(
    keys.command("list").description("The public keys, past and present, as a JWK set."),
  ).action(async (settings: RemoteSettings) => {
    const set = await new Remote(settings).json("GET", "/.well-known/jwks.json");
    process.stdout.write(`${JSON.stringify(set, null, 2)}\n`);
  });
}
