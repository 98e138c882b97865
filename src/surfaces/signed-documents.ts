/**
 * Documents that anybody may ask for and that are signed: each is signed once for every key and content. Equal documents
 * have equal bytes, so clients may keep one and ask whether it still holds (RFC 9110, section 13).
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Issuer } from "../kernel/receipts/signing.ts";
import { sha256Of } from "../receipts/canonical.ts";
import type { SigningKey } from "../receipts/keys.ts";

/** How long a document may be used without asking; agents change when the server is started again. */
const freshSeconds = 60;

interface SignedDocument {
  keyId: string;
  unsigned: string;
  body: string;
  etag: string;
}

export type SignDocument<T> = (document: T, key: SigningKey) => object;

/** One for each kind of document; `name` says which of them it is, of as many as there are agents. */
export class SignedDocuments<T extends object> {
  readonly #last = new Map<string, SignedDocument>();
  readonly #issuer: Issuer;
  readonly #sign: SignDocument<T>;

  constructor(issuer: Issuer, sign: SignDocument<T>) {
    this.#issuer = issuer;
    this.#sign = sign;
  }

  /** Answers with the document, or with 304 to those who have it. */
  send(name: string, document: T, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const { body, etag } = this.#signed(name, document);
    reply.header("ETag", etag).header("Cache-Control", `public, max-age=${freshSeconds}`);
    if (isKnown(request.headers["if-none-match"], etag)) return reply.code(304).send();
    return reply.type("application/json; charset=utf-8").send(body);
  }

  #signed(name: string, document: T): SignedDocument {
    const unsigned = JSON.stringify(document);
    const { key } = this.#issuer;
    const last = this.#last.get(name);
    if (last?.unsigned === unsigned && last.keyId === key.kid) return last;
    const body = JSON.stringify(this.#sign(document, key));
    const signed = { keyId: key.kid, unsigned, body, etag: `"${sha256Of(body)}"` };
    this.#last.set(name, signed);
    return signed;
  }
}

/** RFC 9110, section 13.1.2: one of a list, weak or not, or a star. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
