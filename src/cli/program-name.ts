/** How whoever reads our advice calls this command: those who began with `npx bridle` have no other way. */

export const programName = process.env.npm_command === "exec" ? "npx bridle" : "bridle";
