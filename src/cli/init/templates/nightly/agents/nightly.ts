/** Adds up what the shops sold, compares it with the night before, and keeps a report. The persona has the schedule. */

import { defineAgent } from "bridle";

const memoryKey = "last-total";

export default defineAgent({
  name: "nightly",
  version: "1.0.0",
  description: "Writes a report on the day's sales.",
  async run(ctx) {
    const date = (await ctx.now()).toISOString().slice(0, 10);
    const files = (await ctx.files.list("sales")).filter(({ name }) => name.endsWith(".csv"));
    const sums = await ctx.map(files, async ({ name }) => sumOf(await ctx.files.read(`sales/${name}`)));
    const total = sums.reduce((all, one) => all + one, 0);
    const last = Number((await ctx.memory.read(memoryKey)) ?? 0);
    const report = `# Sales of ${date}\n\n${total} in ${files.length} shops, ${total - last} more than last time.\n`;
    await ctx.files.write(`reports/${date}.md`, report);
    await ctx.memory.write(memoryKey, total);
    return report;
  },
});

/** The last column of each line but the first. */
function sumOf(csv: string): number {
  const lines = csv.trim().split("\n").slice(1);
  return lines.reduce((sum, line) => sum + Number(line.split(",").at(-1)), 0);
}
