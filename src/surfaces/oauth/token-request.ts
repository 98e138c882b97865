/** Reading a request for a token: a form, and a client that says who it is in exactly one way. */

export class InvalidTokenRequest extends Error {
  override name = "InvalidTokenRequest";
  readonly reason: "invalid_request" | "unsupported_grant_type";

  constructor(reason: InvalidTokenRequest["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export function readForm(text: string): URLSearchParams {
  return new URLSearchParams(text);
}

/** A parameter that is given; what is empty counts as absent, and nothing may come twice (section 3.2). */
export function once(form: URLSearchParams, name: string): string | null {
  const values = form.getAll(name);
  if (values.length > 1) throw new InvalidTokenRequest("invalid_request", `${name} is given more than once.`);
  return values[0] === undefined || values[0] === "" ? null : values[0];
}

export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
}

/** `client_secret_basic` or `client_secret_post`. Without either there is a client that cannot be known. */
export function credentialsOf(authorization: string | undefined, form: URLSearchParams): ClientCredentials {
  const clientId = once(form, "client_id");
  const clientSecret = once(form, "client_secret");
  if (authorization === undefined) return { clientId: clientId ?? "", clientSecret: clientSecret ?? "" };
  const basic = basicCredentials(authorization);
  if (clientSecret !== null || (clientId !== null && clientId !== basic.clientId)) {
    throw new InvalidTokenRequest(
      "invalid_request",
      "Authenticate in one way: with the Authorization header, or with client_id and client_secret.",
    );
  }
  return basic;
}

/** Both halves are encoded as in a form before they are joined (section 2.3.1). */
function basicCredentials(authorization: string): ClientCredentials {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1] ?? "";
  const [id = "", secret = ""] = splitAtColon(Buffer.from(encoded, "base64").toString("utf8"));
  return { clientId: formDecode(id), clientSecret: formDecode(secret) };
}

function splitAtColon(text: string): string[] {
  const colon = text.indexOf(":");
  return colon === -1 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}

function formDecode(text: string): string {
  return new URLSearchParams(`v=${text.replaceAll("&", "%26")}`).get("v") ?? "";
}
