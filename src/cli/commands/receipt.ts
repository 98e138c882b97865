/** `bridle receipt`: verify receipts without a server, and take a workspace's chain along. */

import { Argument, type Command } from "commander";
import type { ReceiptSubject } from "../../sdk/client/index.ts";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { about, type JsonSettings, show, withJson, withProgress, writeLines } from "../terminal/output.ts";
import { showWritten, withOut } from "./transfer.ts";

type ExportSettings = RemoteSettings &
  JsonSettings & { workspace: string; out?: string; withArtifacts?: true };

export function addReceiptCommands(program: Command): void {
  const receipt = program.command("receipt").description("Verify receipts and take them along.");
  addVerify(receipt);
  addRequest(receipt);
  addExport(receipt);
}

function addVerify(receipt: Command): void {
  withJson(
    receipt
      .command("verify <file>")
      .description(
        "Verify a receipt (JSON or CBOR) or a whole bundle, without a server. Exit code 1 when it is not valid.",
      )
      .option(
        "--jwks <file>",
        "the issuer's public keys, from its /.well-known/jwks.json; a bundle has its own",
      ),
  ).action(async (file: string, settings: JsonSettings & { jwks?: string }, command: Command) => {
    const { jwks } = settings;
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
      isWhole ? verifyBundleFile(file, keys, settings) : verifyFile(file, keys ?? [], settings),
    );
    if (!valid) process.exitCode = 1;
  });
}

function addRequest(receipt: Command): void {
  withRemoteOptions(
    receipt
      .command("request")
      .description("Issue the receipt of a part of a task and print it. The same part has one receipt.")
      .addArgument(
        new Argument("<object>", "what the receipt is about").choices([
          "outcome",
          "event",
          "artifact",
          "tool_call",
        ]),
      )
      .argument("<id>", "its ID; of a tool call, <task_id>/<step>"),
  ).action(async (object: ReceiptSubject["object"], id: string, settings: RemoteSettings) => {
    const issued = await new Remote(settings).client.receipts.request({ object, id });
    show({ json: true }, issued, () => "");
  });
}

function addExport(receipt: Command): void {
  withRemoteOptions(
    withOut(
      receipt
        .command("export")
        .description("Write all receipts of a workspace, in chain order, with the keys to verify them.")
        .requiredOption("--workspace <id>", "whose receipts")
        .option(
          "--with-artifacts",
          "also write what approvers signed, to <out>.artifacts.jsonl; `verify` checks it against the signatures",
        ),
    ),
  ).action(exportReceipts);
}

async function exportReceipts(settings: ExportSettings, command: Command): Promise<void> {
  const { workspace, out, withArtifacts } = settings;
  if (withArtifacts === true && out === undefined) {
    command.error("error: say with --out where to write: --with-artifacts makes a second file beside it.");
  }
  const remote = new Remote(settings);
  const lines = remote.lines(`/v1/workspaces/${encodeURIComponent(workspace)}/receipts/export`);
  let total: number | undefined;
  const counted = (line: number, text: string) => {
    if (line === 1) total = countIn(text);
    return line - linesBefore;
  };
  const count = await withProgress("receipts exported", (shown) =>
    writeLines(lines, out, (line, text) => shown.at(Math.max(0, counted(line, text)), total)),
  );
  const receipts = count - linesBefore;
  const artifacts =
    withArtifacts === true && out !== undefined
      ? await (await import("./approved-artifacts.ts")).writeArtifacts(remote, out)
      : undefined;
  const facts = { workspace_id: workspace, receipts, ...(artifacts === undefined ? {} : { artifacts }) };
  const signed = artifacts === undefined ? "" : `, ${artifacts} signed artifacts`;
  showWritten(settings, facts, `${receipts} receipts of ${workspace}${signed}`);
}

/** The header of a bundle, and the keys. */
const linesBefore = 2;

/** How many receipts a bundle says it has. */
function countIn(header: string): number | undefined {
  try {
    const { count }: Partial<Record<string, unknown>> = JSON.parse(header);
    return typeof count === "number" ? count : undefined;
  } catch {
    return undefined;
  }
}
