import { text } from "../../text.ts";

export type RunTab = keyof typeof text.run.tabs;
export const runTabs = Object.keys(text.run.tabs) as RunTab[];

export function readRunTab(search: Record<string, unknown>): { tab?: RunTab } {
  const tab = runTabs.find((one) => one === search.tab);
  return tab === undefined ? {} : { tab };
}
