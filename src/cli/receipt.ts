/** `bridle receipt`: verify receipts without a server, and take a workspace's chain along. */

import type { Command } from "commander";
import { about, progress, writeLines } from "./output.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

export function addReceiptCommands(program: Command): void {
  const receipt = program.command("receipt").description("Verify receipts and take them along.");
  receipt
    .command("verify <file>")
    .description(
      "Verify a receipt (JSON or CBOR) or a whole bundle, without a server. Exit code 1 when it is not valid.",
    )
    .option(
      "--jwks <file>",
      "the issuer's public keys, from its /.well-known/jwks.json; a bundle has its own",
    )
    .action(async (file: string, { jwks }: { jwks?: string }, command: Command) => {
      // What verifies is large; the other commands do not need it.
      const { isBundle, readKeys, verifyBundleFile, verifyFile } = await import("./verify-receipts.ts");
      const keys = jwks === undefined ? undefined : await about(jwks, () => readKeys(jwks));
      const isWhole = await about(file, () => isBundle(file));
      if (!isWhole && keys === undefined) {
        command.error(
          "error: say with --jwks which keys to trust: the issuer's /.well-known/jwks.json, saved to a file.",
        );
      }
      const valid = await about(file, () =>
        isWhole ? verifyBundleFile(file, keys) : verifyFile(file, keys ?? []),
      );
      if (!valid) process.exitCode = 1;
    });
  withRemoteOptions(
    receipt
      .command("export")
      .description("Write all receipts of a workspace, in chain order, with the keys to verify them.")
      .requiredOption("--workspace <id>", "whose receipts")
      .option("--out <file>", "where to; standard output otherwise"),
  ).action(async (settings: RemoteSettings & { workspace: string; out?: string }) => {
    const { workspace, out } = settings;
    const shown = progress("receipts exported");
    const lines = new Remote(settings).lines(
      `/v1/workspaces/${encodeURIComponent(workspace)}/receipts/export`,
    );
    const count = await writeLines(lines, out, (line) => shown.at(Math.max(0, line - 2)));
    shown.end();
    process.stderr.write(`${count - 2} receipts of ${workspace}${out === undefined ? "" : ` in ${out}`}.\n`);
  });
}
