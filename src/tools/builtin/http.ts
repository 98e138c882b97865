/** Asking the web: `http.get` looks, `http.post` sends. Where they may go is the guard's to say, for every redirect anew. */

import { Type } from "typebox";
import {
  type OutboundAnswer,
  OutboundFailed,
  OutboundRedirected,
  type OutboundRequest,
} from "../../policy/outbound.ts";
import { defineTool } from "../define.ts";
import type { ToolContext } from "../tool.ts";
import { htmlText } from "./html-text.ts";

const bodyBytesMax = 1024 * 1024;
const redirectsMax = 5;
const timeoutMs = 30_000;
/** Those that the connection is made of are not the caller's to set. */
const headerName =
  "^(?!(?:host|connection|upgrade|te|trailer|expect|content-length|transfer-encoding|proxy-.*)$)[a-z0-9-]{1,64}$";

const url = Type.String({ minLength: 1, maxLength: 8192, description: "An https URL." });
const headers = Type.Optional(
  Type.Record(
    Type.String({ pattern: headerName }),
    Type.String({ maxLength: 4096, pattern: "^[\\x20-\\x7e]*$" }),
    {
      description: "Names in lower case. Not sent to another origin that the answer points to.",
      maxProperties: 32,
      additionalProperties: false,
    },
  ),
);
const raw = Type.Optional(Type.Boolean({ description: "HTML as it is, not reduced to its readable text." }));

const Answer = Type.Object({
  status: Type.Integer(),
  content_type: Type.Union([Type.String(), Type.Null()]),
  text: Type.Union([Type.String(), Type.Null()], { description: "Null when it is no text." }),
  bytes: Type.Union([Type.Integer(), Type.Null()], { description: "How many were read or announced." }),
  truncated: Type.Boolean({ description: "Whether there was more than was read." }),
});

export const httpGet = defineTool({
  name: "http.get",
  description: "Fetches a web page or another text over HTTP. HTML is reduced to its readable text.",
  input: Type.Object({
    url,
    method: Type.Optional(Type.Enum(["GET", "HEAD"])),
    headers,
    raw,
  }),
  output: Answer,
  effect: "none",
  risk: "medium",
  timeoutMs,
  isOptIn: true,
  async run({ url, method = "GET", headers = {}, raw = false }, context) {
    const answer = await ask(url, { method, headers }, context);
    return await read(answer, { isBodiless: method === "HEAD", isRaw: raw });
  },
});

export const httpPost = defineTool({
  name: "http.post",
  description: "Sends a text to a URL with an HTTP POST.",
  input: Type.Object({
    url,
    body: Type.String({ maxLength: bodyBytesMax }),
    content_type: Type.Optional(Type.String({ maxLength: 200, pattern: "^[\\x20-\\x7e]+$" })),
    headers,
    raw,
  }),
  output: Answer,
  effect: "irreversible",
  risk: "high",
  timeoutMs,
  isOptIn: true,
  async run({ url, body, content_type = "application/json", headers = {}, raw = false }, context) {
    const own = { "idempotency-key": context.idempotencyKey, ...headers, "content-type": content_type };
    const answer = await ask(url, { method: "POST", headers: own, body }, context);
    return await read(answer, { isBodiless: false, isRaw: raw });
  },
});

type Asked = Required<Pick<OutboundRequest, "method" | "headers">> & { body?: string };

async function ask(given: string, asked: Asked, context: ToolContext): Promise<OutboundAnswer> {
  const { outbound, signal, traceHeaders } = context;
  let at = outbound.check(given);
  let request = asked;
  for (let redirects = 0; ; redirects += 1) {
    try {
      const headers = { "user-agent": "bridle", ...traceHeaders, ...request.headers };
      return await outbound.request(at, { ...request, headers, signal, headersMs: timeoutMs });
    } catch (error) {
      if (!(error instanceof OutboundRedirected) || error.location === null) throw error;
      if (redirects === redirectsMax)
        throw new OutboundFailed(`There were more than ${redirectsMax} redirects.`);
      const next = URL.parse(error.location, at);
      if (next === null) throw new OutboundFailed("The answer pointed to something that is no URL.");
      request = onward(request, error.status, next.origin === at.origin);
      at = outbound.check(next);
    }
  }
}

/** What is asked where the answer pointed. */
function onward({ method, headers, body }: Asked, status: number, isSameOrigin: boolean): Asked {
  // Made for whom they were sent to: credentials most of all.
  const kept = isSameOrigin ? headers : {};
  if (body === undefined) return { method, headers: kept };
  if (status !== 307 && status !== 308) {
    const { "content-type": _, "idempotency-key": __, ...rest } = kept;
    return { method: "GET", headers: rest };
  }
  // It was to be sent to this one, and perhaps somebody approved just that.
  if (!isSameOrigin)
    throw new OutboundFailed("The answer pointed to another origin; what is sent does not go there.");
  return { method, headers: kept, body };
}

async function read(answer: OutboundAnswer, { isBodiless, isRaw }: { isBodiless: boolean; isRaw: boolean }) {
  const { status, headers } = answer;
  const content_type = headers.get("content-type");
  const announced = Number(headers.get("content-length") ?? Number.NaN);
  const known = { status, content_type, bytes: Number.isSafeInteger(announced) ? announced : null };
  if (isBodiless || !isText(headers)) {
    answer.discard();
    return { ...known, text: null, truncated: false };
  }
  const { bytes, truncated } = await readBounded(answer);
  // Without its end a text may stop in the middle of a letter, which is left out.
  const text = decoderFor(content_type).decode(bytes, { stream: truncated });
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)\b/i.test(content_type ?? "");
  return { ...known, bytes: bytes.length, text: isHtml && !isRaw ? htmlText(text) : text, truncated };
}

const textual =
  /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|x-ndjson|x-www-form-urlencoded)\b)/i;

/** What is packed is no text, and was not asked for. */
function isText(headers: Headers): boolean {
  const encoding = headers.get("content-encoding") ?? "identity";
  return encoding === "identity" && textual.test(headers.get("content-type") ?? "");
}

async function readBounded(answer: OutboundAnswer): Promise<{ bytes: Buffer; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > bodyBytesMax) {
      answer.discard();
      break;
    }
  }
  const all = Buffer.concat(chunks);
  return { bytes: all.subarray(0, bodyBytesMax), truncated: length > bodyBytesMax };
}

function decoderFor(contentType: string | null): TextDecoder {
  const named = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(named);
  } catch {
    return new TextDecoder();
  }
}
