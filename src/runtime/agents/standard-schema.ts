/** Standard Schema (https://standardschema.dev): what zod, valibot and ArkType have in common, as far as it is used here. */

export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

export function isStandardSchema(schema: object): schema is StandardSchema {
  return "~standard" in schema;
}
