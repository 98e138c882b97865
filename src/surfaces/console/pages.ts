/** The addresses that are pages of the console: each is answered with the same document, which knows what to show. */

export const consolePages: readonly string[] = [
  "/",
  "/sign-in",
  "/runs",
  "/runs/:id",
  "/runs/:id/replay",
  "/talk",
  "/talk/:id",
  "/approvals",
  "/receipts",
  "/receipts/chain",
  "/keys",
  "/operate",
  "/operate/:part",
  "/operate/:part/:id",
];
