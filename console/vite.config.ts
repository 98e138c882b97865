import { defineConfig } from "vite";

export default defineConfig({
  base: "/console/",
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
