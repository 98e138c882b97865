/** How whoever reads our advice calls this command: below npx and npm's scripts, `bridle` alone is on no path. */

const npmCommands = new Set(["exec", "start", "run-script"]);

export const programName = npmCommands.has(process.env.npm_command ?? "") ? "npx bridle" : "bridle";
