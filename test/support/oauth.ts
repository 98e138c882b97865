/** Asking for access tokens as a client would, and reading them as anybody could. */

import assert from "node:assert/strict";
import type { Answer, Client, Json } from "./client.ts";

export interface Ask {
  /** Sent as a form, after `grant_type` and what it is overridden by. */
  form?: Record<string, string>;
  /** The whole body, instead of a form. */
  raw?: string;
  contentType?: string;
  /** As HTTP Basic; otherwise id and secret go into the form. */
  basic?: { id: string; secret: string };
  headers?: Record<string, string>;
}

export async function ask(
  url: string,
  { form = {}, raw, contentType, basic, headers = {} }: Ask,
): Promise<Answer> {
  const body = raw ?? new URLSearchParams({ grant_type: "client_credentials", ...form }).toString();
  const authorization =
    basic === undefined
      ? {}
      : {
          authorization: `Basic ${Buffer.from(`${encodeURIComponent(basic.id)}:${encodeURIComponent(basic.secret)}`).toString("base64")}`,
        };
  const response = await fetch(`${url}/oauth/token`, {
    method: "POST",
    body,
    headers: {
      "content-type": contentType ?? "application/x-www-form-urlencoded",
      ...authorization,
      ...headers,
    },
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A token for an API key, as the endpoint gives it. */
export async function tokenFor(client: Client, key: Json, scope?: string): Promise<string> {
  const form = scope === undefined ? {} : { scope };
  const { status, body } = await ask(client.url, { basic: { id: key.id, secret: key.key }, form });
  assert.equal(status, 200, JSON.stringify(body));
  return body.access_token;
}
