/** What the schemas of the protocol are put together from. These have no names in it, so they are no components. */

import { type TProperties, type TSchema, Type } from "typebox";

export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
export const Timestamp = Type.String({ format: "date-time" });
/** Any JSON object. Values stay unknown to the schema; JSON parsing made them JSON. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown());
/** It is part of every document and event about its resource, so it is small. */
export const Metadata = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 1000 });

export const textMax = 200;
export const Name = Type.String({ minLength: 1, maxLength: textMax });
/** A path, a reference or a name of a module. */
export const LongName = Type.String({ minLength: 1, maxLength: 2000 });
export const Id = Type.String({ minLength: 1, maxLength: textMax });

export const Visibility = Type.Enum(["public", "internal", "receipt_only"]);

/** On what came with the log of another server: who brought it here, and when. */
const ImportMark = Type.Object({ by: Type.String(), at: Timestamp });

export const Envelope = <K extends string, P extends TProperties>(object: K, properties: P) =>
  Type.Object({
    id: Type.String(),
    object: Type.Literal(object),
    created_at: Timestamp,
    updated_at: Timestamp,
    metadata: Metadata,
    imported: Type.Optional(ImportMark),
    ...properties,
  });

export const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 }));
export const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: textMax }));
