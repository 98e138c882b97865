import { useQuery } from "@tanstack/react-query";
import { bridle } from "../../server/bridle.ts";

/** More are listed by `bridle persona list`. */
const personasMax = 200;

export function usePersonas() {
  return useQuery({
    queryKey: ["personas"],
    queryFn: ({ signal }) => bridle.personas.list({ limit: personasMax, signal }),
  });
}
