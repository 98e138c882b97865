/** The two commands that every kind of resource has: `list`, a table, and `show`, everything about one. */

import { type Command, Option } from "commander";
import type { BridleClient } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { type Limits, remoteCommand, type Settings, withLimit } from "../task/command.ts";
import { moreHint, taken } from "../task/list.ts";
import { show } from "../terminal/output.ts";
import { facts, table } from "../terminal/table.ts";
import { oneLine } from "../terminal/text.ts";

/** One fact about an item; null when there is nothing to say. */
export interface Field<Item> {
  name: string;
  of(item: Item): string | null;
  /** Columns are in the table; every field is in `show`. */
  isColumn?: true;
}

export interface ResourceView<Item> {
  /** As it is named in the help: `workspace`. */
  noun: string;
  plural: string;
  fields: readonly Field<Item>[];
  all(client: BridleClient, filter: { workspaceId?: string }): AsyncIterable<Item>;
  get(client: BridleClient, id: string): Promise<Item>;
  /** Lists take `--workspace`. */
  isInWorkspace?: true;
  /** The command that makes the first one. */
  make?: string;
}

export function addListAndShow<Item>(parent: Command, view: ResourceView<Item>): void {
  const { noun, plural } = view;
  const list = withLimit(remoteCommand(parent, "list", `List ${plural}.`));
  if (view.isInWorkspace === true)
    list.addOption(new Option("--workspace <id>", "only those of this workspace"));
  list.action(async ({ workspace, ...settings }: Settings & Limits & { workspace?: string }) => {
    const filter = workspace === undefined ? {} : { workspaceId: workspace };
    const { items, isMore } = await taken(view.all(new Remote(settings).client, filter), settings);
    show(settings, items, () => tableText(view, items));
    if (isMore && settings.json !== true) process.stderr.write(moreHint);
  });
  remoteCommand(parent, `show <${noun}>`, `Show one ${noun}.`).action(
    async (id: string, settings: Settings) => {
      const item = await view.get(new Remote(settings).client, id);
      show(settings, item, () => itemText(view, item));
    },
  );
}

export function tableText<Item>(
  { fields, plural, make }: Pick<ResourceView<Item>, "fields" | "plural" | "make">,
  items: readonly Item[],
): string {
  if (items.length === 0) {
    const hint = make === undefined ? "" : ` Create one with \`${make}\`.`;
    return `No ${plural}.${hint}\n`;
  }
  const columns = fields.filter(({ isColumn }) => isColumn);
  const rows = items.map((item) => columns.map(({ of }) => of(item) ?? ""));
  return table(
    columns.map(({ name }) => name.toUpperCase()),
    rows,
  );
}

export function itemText<Item>({ fields }: Pick<ResourceView<Item>, "fields">, item: Item): string {
  return facts(fields.map(({ name, of }) => [name, of(item)] as const));
}

/** A command that changes something and says what is so now. */
export function said(settings: Settings, value: unknown, sentence: string): void {
  show(settings, value, () => `${oneLine(sentence)}\n`);
}

export function listText(items: readonly string[] | null | undefined): string | null {
  return items == null || items.length === 0 ? null : items.join(" ");
}
