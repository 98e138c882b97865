/** Protocol buffers read without their definition: the fields of a message by number, as they were sent. */

/** Of a field: a varint as a number, everything else as its bytes. */
export type Fields = Map<number, (Uint8Array | bigint)[]>;

export function fieldsOf(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("The message ends in the middle of a number.");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Uint8Array => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()));
    const number = tag >>> 3;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

export function manyOf(fields: Fields, number: number): Fields[] {
  return (fields.get(number) ?? []).map((value) => {
    if (typeof value === "bigint") throw new Error(`Field ${number} is a number.`);
    return fieldsOf(value);
  });
}

/** An empty message when there is none. */
export function oneOf(fields: Fields, number: number): Fields {
  return manyOf(fields, number)[0] ?? new Map();
}

export function textOf(fields: Fields, number: number, encoding: "utf8" | "hex" = "utf8"): string {
  const [value] = fields.get(number) ?? [];
  return value instanceof Uint8Array ? Buffer.from(value).toString(encoding) : "";
}

/** A varint, or 8 bytes as a whole number. */
export function numberOf(fields: Fields, number: number): number {
  const [value] = fields.get(number) ?? [];
  return Number(value instanceof Uint8Array ? Buffer.from(value).readBigUInt64LE() : (value ?? 0n));
}
