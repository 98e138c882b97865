/**
 * What a receipt's hash covers: everything in it but the hash itself and the signatures, which are made over it. Also of
 * a document that may not be a receipt at all: the hash of a bad one is worth knowing, too.
 */

export function withoutSeal(document: { chain: object }): Record<string, unknown> {
  const body: Record<string, unknown> = { ...document };
  delete body.signatures;
  const chain: Record<string, unknown> = { ...document.chain };
  delete chain.receipt_hash;
  body.chain = chain;
  return body;
}
