import { useQuery } from "@tanstack/react-query";
import { bridle } from "../../server/bridle.ts";

/** More agents than anybody looks through. */
const agentsMax = 200;

export function useAgents() {
  return useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => bridle.agents.list({ limit: agentsMax, signal }),
    staleTime: 60_000,
  });
}
