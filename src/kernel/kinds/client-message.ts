/**
 * What a client said of a message beside its content: its own id of it, file names, metadata of parts, what it takes as an answer. It is
 * kept in the message's metadata under one key; surfaces say it again, and agents read it as `ctx.message`.
 */

import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../../lazy.ts";
import type { JsonObject } from "../../store/port.ts";

/** No client may use this key for itself. */
export const saidKey = "urn:bridle:opvs";

const Texts = Type.Optional(Type.Array(Type.String()));
const SaidPart = Type.Object({
  filename: Type.Optional(Type.String()),
  mediaType: Type.Optional(Type.String()),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
const Said = Type.Object({
  messageId: Type.Optional(Type.String()),
  extensions: Texts,
  referenceTaskIds: Texts,
  acceptedOutputModes: Texts,
  parts: Type.Optional(Type.Array(SaidPart)),
});
const said = lazy(() => Compile(Said));

export type ClientSaid = Static<typeof Said>;
export type ClientSaidPart = Static<typeof SaidPart>;

/** And the metadata without it. Nothing was said by clients of other protocols. */
export function clientSaid(metadata: JsonObject): { said: ClientSaid | null; metadata: JsonObject } {
  const { [saidKey]: kept, ...others } = metadata;
  return { said: said().Check(kept) ? kept : null, metadata: others };
}
