import { defineAgent } from "bridle";
import { salesTotal } from "../sales.ts";

/** By shop, in cents. */
type Totals = Record<string, number>;

const memoryKey = "last-totals";

export const nightlyReport = defineAgent({
  name: "nightly-report",
  version: "1.0.0",
  description: "Adds up what the shops sold, says what changed since the last report, and keeps the report.",
  tools: [salesTotal],
  async run(ctx) {
    const date = (await ctx.now()).toISOString().slice(0, 10);
    const totals: Totals = {};
    for (const { name, kind } of await ctx.files.list("sales")) {
      if (kind !== "file" || !name.endsWith(".csv")) continue;
      const { cents } = await ctx.tool(salesTotal, { path: `sales/${name}` });
      totals[name.replace(/\.csv$/, "")] = cents;
    }
    const last = totalsIn(await ctx.memory.read(memoryKey));
    const table = tableOf(totals, last);

    const { text: summary } = await ctx.model.generate({
      label: "summary",
      system: ctx.persona.instructions,
      prompt: `The sales of ${date}:\n\n${table}`,
    });

    const report = `# Sales, ${date}\n\n${summary}\n\n${table}\n`;
    const path = `reports/${date}.md`;
    await ctx.artifact({ name: `${date}.md`, mimeType: "text/markdown", text: report });
    await ctx.files.write(path, report);
    await ctx.memory.write(memoryKey, totals);
    return { report: path, change: last === null ? null : sum(totals) - sum(last), summary };
  },
});

/** What was remembered; null the first time. */
function totalsIn(remembered: unknown): Totals | null {
  if (typeof remembered !== "object" || remembered === null) return null;
  return Object.fromEntries(Object.entries(remembered).map(([shop, cents]) => [shop, Number(cents)]));
}

function tableOf(totals: Totals, last: Totals | null): string {
  const rows = [...Object.entries(totals), ["all", sum(totals)] as const].map(([shop, cents]) => {
    const before = shop === "all" ? last && sum(last) : last?.[shop];
    return `| ${shop} | ${euros(cents)} | ${changeOf(cents, before ?? null)} |`;
  });
  return ["| shop | sold | change |", "| --- | ---: | ---: |", ...rows].join("\n");
}

function changeOf(cents: number, before: number | null): string {
  if (before === null) return "new";
  return `${cents < before ? "-" : "+"}${euros(Math.abs(cents - before))}`;
}

function sum(totals: Totals): number {
  return Object.values(totals).reduce((all, cents) => all + cents, 0);
}

function euros(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`;
}
