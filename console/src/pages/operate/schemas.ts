/** What the server takes, as its own description of the API says it. Loaded when somebody opens a form. */

import { useQuery } from "@tanstack/react-query";
import { sessionFetch } from "../../server/session.ts";
import { isRecord } from "../run/words.ts";

export function useRequestSchema(name: string): Record<string, unknown> | null {
  const { data } = useQuery({
    queryKey: ["openapi"],
    queryFn: async ({ signal }) => {
      const found: unknown = await (await sessionFetch("/openapi.json", { signal })).json();
      const components = isRecord(found) && isRecord(found.components) ? found.components : {};
      return isRecord(components.schemas) ? components.schemas : {};
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const schema = data?.[name];
  return isRecord(schema) ? schema : null;
}

/** Only these members, in this order. */
export function picked(schema: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  return {
    ...schema,
    properties: Object.fromEntries(
      names.flatMap((name) => (name in properties ? [[name, properties[name]] as const] : [])),
    ),
  };
}
