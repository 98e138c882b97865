/** The last lines of the servers that tests have started: what they wrote is what explains a failure. */

const linesMax = 20;
/** Servers of the tests before are not interesting. */
const serversMax = 4;

interface Log {
  name: string;
  lines(): readonly string[];
  endedAt: number | null;
}

const logs: Log[] = [];

/** Remembers a server; the result is called when it has ended. */
export function rememberServer(name: string, lines: () => readonly string[]): () => void {
  const log: Log = { name, lines, endedAt: null };
  logs.push(log);
  if (logs.length > serversMax) logs.shift();
  return () => {
    log.endedAt = Date.now();
  };
}

/** What was written by servers that were running while a test that took so long, and ended now, was. */
export function serverLogs(durationMs: number): string {
  const since = Date.now() - durationMs - 1000;
  return logs
    .filter(({ endedAt, lines }) => (endedAt === null || endedAt >= since) && lines().length > 0)
    .map(({ name, lines }) => {
      const last = lines()
        .slice(-linesMax)
        .map((line) => `    ${line}\n`);
      return `\n  The last lines of ${name}:\n${last.join("")}`;
    })
    .join("");
}
