/** What the page of the chain says. */

export const chainText = {
  title: "Chain of receipts",
  open: "Walk the chain",
  intro:
    "Each receipt has the hash of the one before it, newest on the left. Choose one, or use the arrow keys; it is verified in this browser. Receipts of replays hang on that of their source and are not in the chain.",
  none: "No receipts yet",
  noneHelp: "A run gets its receipt when it ends.",
  older: "Older receipts",
  workspace: "Workspace",
  newestWorkspace: "That of the newest receipt",
  receipt: "The receipt",
  openRun: "Open the run",
  subjects: {
    task: "run",
    outcome: "outcome",
    event: "event",
    artifact: "artifact",
    approval: "approval",
    tool_call: "tool call",
    replay_segment: "replay",
  },
  links: {
    linked: "linked to the next one by its hash",
    first: "the first of its chain",
    broken: "not linked to the receipt before it",
    unknown: "the receipt before it is not loaded",
  },
  tree: "Proof in the workspace's tree",
  noTree: "The server gives no proof for this receipt.",
  leaf: (leaf: number, size: number, isIncluded: boolean) =>
    `${isIncluded ? "Proved" : "Not proved"}: receipt ${leaf.toLocaleString("en")} of ${size.toLocaleString("en")}.`,
  path: "From the receipt to the root",
  leafName: "this receipt",
  sibling: "sibling",
  root: "root",
} as const;
