/** From definitions to what is counted with, in a registry of the server's own. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Definition } from "./definitions.ts";

type Instrument<D extends Definition> = D["type"] extends "counter"
  ? Counter<D["labels"][number]>
  : D["type"] extends "gauge"
    ? Gauge<D["labels"][number]>
    : Histogram<D["labels"][number]>;

export type Instruments<Group extends Record<string, Definition>> = {
  [Name in keyof Group]: Instrument<Group[Name]>;
};

export function instrumentsOf<Group extends Record<string, Definition>>(
  group: Group,
  registry: Registry,
): Instruments<Group> {
  const made = Object.entries(group).map(([name, definition]) => [name, instrumentOf(definition, registry)]);
  // Each entry is made from the definition of the same name.
  return Object.fromEntries(made) as Instruments<Group>;
}

function instrumentOf({ type, name, help, labels, buckets }: Definition, registry: Registry) {
  const options = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === "counter") return new Counter(options);
  if (type === "gauge") return new Gauge(options);
  return new Histogram({ ...options, buckets: [...(buckets ?? [])] });
}
