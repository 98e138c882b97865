/** The tool that knows what a file of sales looks like: a line with the names of the columns, then one line for each order. */

import { defineTool, Type } from "bridle";

export const salesTotal = defineTool({
  name: "sales.total",
  description: "Adds up the orders in one shop's file of the workspace.",
  input: Type.Object({ path: Type.String() }),
  output: Type.Object({ orders: Type.Integer(), cents: Type.Integer() }),
  effect: "none",
  async run({ path }, { files, place }) {
    const found = await files.read(await place(), path);
    if (found.kind !== "file") throw new Error(`${path} is a folder.`);
    const [, ...orders] = found.content.trim().split("\n");
    const cents = orders.map((order) => Number(order.split(",")[1]));
    const wrong = cents.findIndex((amount) => !Number.isInteger(amount));
    if (wrong !== -1) throw new Error(`${path}, line ${wrong + 2}: an order is ID,CENTS.`);
    return { orders: orders.length, cents: cents.reduce((sum, amount) => sum + amount, 0) };
  },
});
