/** The receipt of the tour: saved with the issuer's keys, and verified from these two files alone. */

import { writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { checkFile, readKeys } from "../commands/verify-receipts.ts";
import { programName } from "../program-name.ts";
import type { Remote } from "../remote.ts";
import type { Page } from "./page.ts";
import type { TourWorkspace } from "./workspace.ts";

export async function saveReceipt(remote: Remote, receiptId: string, place: TourWorkspace): Promise<void> {
  const keys = await remote.client.receipts.keys();
  await writeFile(place.receipt, await remote.text(`/v1/receipts/${encodeURIComponent(receiptId)}`));
  await writeFile(place.keys, `${JSON.stringify({ keys }, null, 2)}\n`);
}

/** Whether it holds, said check by check as `bridle receipt verify` does. */
export async function verifyReceipt(page: Page, place: TourWorkspace): Promise<boolean> {
  const verification = await checkFile(place.receipt, await readKeys(place.keys));
  const mark = (ok: boolean | null) => (ok === true ? "ok  " : ok === false ? "FAIL" : "-   ");
  page.rows(verification.checks.map(({ name, ok, message }) => [`${mark(ok)} ${name}`, message]));
  if (verification.valid) page.text("The receipt is valid.", page.style.good);
  else page.text(`The receipt is NOT valid: ${verification.reason}`, page.style.danger);
  return verification.valid;
}

/** The command that does the same. */
export function verifyCommand(place: TourWorkspace): string {
  const [receipt, keys] = [place.receipt, place.keys].map((file) => {
    const short = relative(process.cwd(), file);
    return short.startsWith("..") ? file : short;
  });
  return `${programName} receipt verify ${receipt} --jwks ${keys}`;
}
