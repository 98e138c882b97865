/** docs/reliability.md: what was killed where, and what became of it. */

import { failPoints } from "../../src/store/fail-point.ts";
import type { Killed } from "./kills.ts";

interface About {
  commit: string;
  args: string;
  at: Date;
}

export function reportOf(all: readonly Killed[], { commit, args, at }: About): string {
  const faults = all.filter(({ fault }) => fault !== null);
  const command = args === "" ? "npm run kill-report" : `npm run kill-report -- ${args}`;
  return `# Kill report

${all.length} kills, ${faults.length} faults, on ${at.toISOString().slice(0, 10)}, after commit ${commit}. Written by:

\`\`\`sh
${command}
\`\`\`

Each kill is SIGKILL to a real server at the n-th visit of a named fail point, while a task that came over one protocol
does a step, asks a question, waits for an approval, does what was approved, sleeps, and calls an irreversible tool. The
server is started again, the client repeats its request under the same key, answers what it is asked, and then:

- the request is answered with the same task, and the task comes to its end; "outcome unknown" is an end for what must
  not be done twice and was in the middle;
- a program outside, which counts, saw approved effects and irreversible tools once;
- after all kills of a protocol, every document is the fold of the log, which has no gap (SQLite).

A killed process loses its memory, not the machine's: this shows nothing about disks that lie about \`fsync\`.

## By fail point

${table("fail point", failPoints, all, ({ point }) => point)}

## By state of the task

${table(
  "state",
  valuesOf(all, ({ state }) => state),
  all,
  ({ state }) => state,
)}

## By protocol

${table(
  "protocol",
  valuesOf(all, ({ protocol }) => protocol),
  all,
  ({ protocol }) => protocol,
)}

## By store

${table(
  "store",
  valuesOf(all, ({ store }) => store),
  all,
  ({ store }) => store,
)}

## Faults

${faults.length === 0 ? "None." : faults.map((killed) => `- ${JSON.stringify(killed)}`).join("\n")}
`;
}

function valuesOf(all: readonly Killed[], of: (killed: Killed) => string): string[] {
  return [...new Set(all.map(of))].sort();
}

function table(
  title: string,
  names: readonly string[],
  all: readonly Killed[],
  of: (killed: Killed) => string,
): string {
  const rows = names.map((name) => {
    const own = all.filter((killed) => of(killed) === name);
    return `| ${name} | ${own.length} | ${own.filter(({ fault }) => fault !== null).length} |`;
  });
  return [`| ${title} | kills | faults |`, "| --- | --- | --- |", ...rows].join("\n");
}
