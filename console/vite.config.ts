import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import manifest from "../package.json" with { type: "json" };

/** The project's own libraries, by the names under which everybody imports them, from their sources. */
const libraries = Object.entries(manifest.exports).map(([path, { default: source }]) => ({
  find: new RegExp(`^${path.replace(/^\./, "bridle")}$`),
  replacement: fileURLToPath(new URL(`../${source}`, import.meta.url)),
}));

export default defineConfig({
  base: "/console/",
  resolve: { alias: libraries },
  build: {
    target: "es2024",
    assetsDir: "assets",
    // Everything is a file of the server, so that nothing inline has to be allowed.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      // Libraries mark what runs on a client; here everything does.
      onLog(level, log, tell) {
        if (log.code !== "MODULE_LEVEL_DIRECTIVE") tell(level, log);
      },
    },
  },
});
