import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./router.tsx";
import { queries } from "./server/bridle.ts";
import { keepFiles } from "./server/installed.ts";
import { restoreSession } from "./server/session.ts";
import { applyTheme } from "./shell/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/values.css";
import "./styles/shell.css";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("The document has no root");
await restoreSession().catch(() => {
  // Pages say that there is no connection, and try again.
});
keepFiles();
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
