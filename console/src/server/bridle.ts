/** The server that this page came from, through the same client that any program uses. */

import { QueryClient } from "@tanstack/react-query";
import { createClient } from "bridle/client";
import { sessionFetch } from "./session.ts";

export const bridle = createClient({ url: location.origin, key: "session", fetch: sessionFetch, retries: 1 });

/** The client tries again by itself what got lost. */
export const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: true } },
});
