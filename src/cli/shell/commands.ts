/** What can be typed beside messages. */

const commands = {
  help: "this list",
  "attach PATH": "upload a file; it goes with your next message",
  agents: "list the agents of the server",
  "agent NAME": "talk to another agent, in a new conversation",
  resume: "go on with the run that was left open, also after quitting",
  cancel: "end the run that is open",
  new: "begin a new conversation",
  quit: "leave; Ctrl-D does the same",
} as const;

const names = ["help", "attach", "agents", "agent", "resume", "cancel", "new", "quit"] as const;

export interface Command {
  /** `say` sends the argument; `unknown` has what was typed instead of a name. */
  name: (typeof names)[number] | "say" | "unknown";
  argument: string;
}

export function commandIn(line: string): Command {
  if (!line.startsWith("/")) return { name: "say", argument: line };
  if (line.startsWith("//")) return { name: "say", argument: line.slice(1) };
  const [, word = "", argument = ""] = /^\/(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
  const name = names.find((known) => known === word.toLowerCase());
  return name === undefined ? { name: "unknown", argument: `/${word}` } : { name, argument };
}

export function helpText(sessionId: string): string {
  const rows = Object.entries(commands).map(([form, what]) => `  ${`/${form}`.padEnd(14)}${what}`);
  return [
    "A line is a message, or the answer to what was asked.",
    "A backslash at its end goes on with the next line.",
    ...rows,
    `  ${"//text".padEnd(14)}send a message that begins with a slash`,
    `This conversation is --session ${sessionId}`,
  ].join("\n");
}
