/**
 * The agent card, signed: Ed25519 over the RFC 8785 form of the card without `signature`, by a key of
 * `/.well-known/jwks.json`. Equal cards have equal bytes, so clients may keep one and ask whether it still holds.
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Issuer } from "../../kernel/signing.ts";
import { canonicalJson, sha256Of } from "../../receipts/canonical.ts";

/** How long a card may be used without asking; agents change when the server is started again. */
const cardSeconds = 60;

interface SignedCard {
  keyId: string;
  unsigned: string;
  body: string;
  etag: string;
}

export type SendCard = (
  card: Record<string, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply;

export function createSendCard(issuer: Issuer): SendCard {
  let last: SignedCard | null = null;
  return (card, request, reply) => {
    const unsigned = JSON.stringify(card);
    // Anybody may ask for it; it is signed once for every key.
    if (last?.unsigned !== unsigned || last.keyId !== issuer.key.kid) last = sign(unsigned, issuer);
    const { body, etag } = last;
    reply.header("ETag", etag).header("Cache-Control", `public, max-age=${cardSeconds}`);
    if (isKnown(request.headers["if-none-match"], etag)) return reply.code(304).send();
    return reply.type("application/json; charset=utf-8").send(body);
  };
}

function sign(unsigned: string, { key }: Issuer): SignedCard {
  const card: object = JSON.parse(unsigned);
  const signature = { algorithm: "ed25519", key_id: key.kid, value: key.sign(canonicalJson(card)) };
  const body = JSON.stringify({ ...card, signature });
  return { keyId: key.kid, unsigned, body, etag: `"${sha256Of(body)}"` };
}

/** RFC 9110, section 13.1.2: one of a list, weak or not, or a star. */
function isKnown(header: string | undefined, etag: string): boolean {
  const tags = (header ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}
