/** What the pages for people who write clients say. */

export const cardText = {
  open: "Agent card",
  none: "There is no card for this agent.",
  signed: (key: string) => `Signed by this server's key ${key}.`,
  unsigned: "No key of this server signed this card.",
  help: "Checked in this browser, with the keys that the server publishes. Other agents read it at:",
} as const;

export const framesText = {
  open: "Frames",
  title: "Frames",
  protocol: "Protocol",
  names: { harn: "Harn, server-sent events", a2a: "A2A 1.0 (OPVS), JSON-RPC" },
  copy: "Copy the frame",
} as const;
