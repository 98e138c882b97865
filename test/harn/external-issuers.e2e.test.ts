/** Tokens of other issuers: what the operator trusts is accepted, each check fails alone, and keys are fetched with care. */

import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SignJWT } from "jose";
import { bridle, errorLine } from "../support/cli.ts";
import { Client, errorOf, type Json } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const audience = "https://bridle.example.com";
const issuer = "https://login.example.com/";
const fileIssuer = "https://files.example.com";
const deadIssuer = "https://dead.example.com";
const hugeIssuer = "https://huge.example.com";

interface Signer {
  kid: string;
  alg: string;
  privateKey: KeyObject;
  jwk: Json;
}

function signer(kid: string, alg: "ES256" | "RS256" | "EdDSA"): Signer {
  const { privateKey, publicKey } =
    alg === "RS256"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : alg === "ES256"
        ? generateKeyPairSync("ec", { namedCurve: "P-256" })
        : generateKeyPairSync("ed25519");
  return { kid, alg, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, alg, use: "sig" } };
}

const first = signer("first", "ES256");
const rsa = signer("rsa", "RS256");
const filed = signer("filed", "EdDSA");
const unpublished = signer("second", "ES256");

/** An issuer's key set, and how often it was asked for. */
class Issuer {
  keys: Json[] = [first.jwk, rsa.jwk];
  asked = { keys: 0, dead: 0, huge: 0 };
  readonly server: Server = createServer((request, response) => {
    if (request.url === "/huge") {
      this.asked.huge += 1;
      response.end(`{"keys":[${'{"kty":"OKP"},'.repeat(100_000)}{}]}`);
    } else if (request.url === "/dead") {
      this.asked.dead += 1;
      response.writeHead(500).end("no keys today");
    } else {
      this.asked.keys += 1;
      response.end(JSON.stringify({ keys: this.keys }));
    }
  });

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

const login = new Issuer();
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;

before(async () => {
  directory = await temporaryDirectory();
  const file = join(directory.path, "keys.json");
  await writeFile(file, JSON.stringify({ keys: [filed.jwk] }));
  login.server.listen(0, "127.0.0.1");
  await once(login.server, "listening");
  server = await startServer({
    flags: [
      ...["--oauth-audience", audience, "--oauth-issuer", `${issuer}=${login.url}/keys`],
      ...["--oauth-issuer", `${fileIssuer}=${file}`, `${deadIssuer}=${login.url}/dead`],
      ...["--oauth-issuer", `${hugeIssuer}=${login.url}/huge`, "--auth-failures", "100000"],
    ],
  });
  client = new Client(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
  login.server.closeAllConnections();
  login.server.close();
});

const seconds = () => Math.floor(Date.now() / 1000);

/** A token as the issuer gives them; a claim that is null is left out. */
async function token(claims: Json = {}, by: Signer = first, header: Json = {}): Promise<string> {
  const payload = {
    iss: issuer,
    aud: audience,
    sub: "robot",
    tenant_id: "tenant_default",
    scope: "openid sessions:read sessions:write",
    iat: seconds(),
    exp: seconds() + 300,
    ...claims,
  };
  const given = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== null));
  return await new SignJWT(given)
    .setProtectedHeader({ alg: by.alg, kid: by.kid, ...header })
    .sign(by.privateKey);
}

const use = (presented: string) => client.as(presented).get("/v1/sessions");

describe("Trusted issuers", () => {
  test("OAU-6 the claims of a trusted issuer's token say who acts, where, and what they may do", async () => {
    // Given a token of a trusted issuer, when it is used, then its claims say who acts, where, and what they may do.
    const robot = client.as(await token());
    const { id } = await robot.createSession();
    const [event] = await client.listAll(`/v1/sessions/${id}/events`);
    assert.equal(event.actor, "robot");
    assert.equal(errorOf(await robot.get("/v1/tasks"), 403).details.required_scope, "tasks:read");
  });

  const variants: Record<string, () => Promise<string>> = {
    "signed with RSA": () => token({}, rsa),
    "whose keys are in a file": () => token({ iss: fileIssuer }, filed),
    "for several audiences": () => token({ aud: ["https://other.example.com", audience] }),
    "whose scopes are a list": () => token({ scope: ["sessions:read"] }),
    "that has just expired on a slower clock": () => token({ exp: seconds() - 5 }),
    "that begins on a faster clock": () => token({ nbf: seconds() + 5 }),
  };
  for (const [what, make] of Object.entries(variants)) {
    test(`OAU-6 given a token ${what}, when it is used, then it is accepted`, async () => {
      assert.equal((await use(await make())).status, 200);
    });
  }

  test("OAU-6 a token of another tenant that names workspaces sees only these", async () => {
    // Given a token of another tenant that names workspaces, when it is used, then it sees these and nothing else.
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    const workspace_id = (await stranger.post("/v1/workspaces", { name: "W", root: "." })).body.id;
    const inside = await stranger.createSession({ workspace_id });
    await stranger.createSession({ workspace_id: "workspace_default.tenant_other" });
    await client.createSession();
    const robot = client.as(await token({ tenant_id: "tenant_other", workspace_ids: [workspace_id] }));
    assert.deepEqual(
      (await robot.listAll("/v1/sessions")).map(({ id }) => id),
      [inside.id],
    );
  });
});

describe("Each check", () => {
  const secret = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
  const bad: Record<string, () => Promise<string>> = {
    "an issuer that is not trusted": () => token({ iss: "https://evil.example.com" }),
    "the issuer of one and the key of another": () => token({ iss: fileIssuer }),
    "another audience": () => token({ aud: "https://other.example.com" }),
    "no audience": () => token({ aud: null }),
    "an expiry that has passed": () => token({ exp: seconds() - 120 }),
    "no expiry": () => token({ exp: null }),
    "a beginning that is still to come": () => token({ nbf: seconds() + 120 }),
    "no subject": () => token({ sub: null }),
    "a subject that is the server itself": () => token({ sub: "system" }),
    "a subject that looks like another": () => token({ sub: "rob\u200bot" }),
    "a subject without end": () => token({ sub: "x".repeat(201) }),
    "no tenant": () => token({ tenant_id: null }),
    "a tenant that is not here": () => token({ tenant_id: "tenant_nowhere" }),
    "no scope": () => token({ scope: null }),
    "workspaces that are no list": () => token({ workspace_ids: "workspace_default" }),
    "a signature of somebody else": () => token({}, { ...unpublished, kid: first.kid }),
    "another algorithm than its key's": () => token({}, { ...rsa, alg: "RS256", kid: first.kid }),
    "a shared secret": () =>
      new SignJWT({ iss: issuer, aud: audience, sub: "robot", tenant_id: "tenant_default", scope: "admin" })
        .setProtectedHeader({ alg: "HS256", kid: first.kid })
        .setExpirationTime("5m")
        .sign(secret),
    "the public key as a shared secret": () =>
      new SignJWT({ iss: issuer, aud: audience, sub: "robot", tenant_id: "tenant_default", scope: "admin" })
        .setProtectedHeader({ alg: "HS256", kid: first.kid })
        .setExpirationTime("5m")
        .sign(new TextEncoder().encode(JSON.stringify(first.jwk))),
    "no signature": async () => {
      const [, payload] = (await token()).split(".");
      return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    },
    "an extension that must be understood": async () => {
      const [, payload] = (await token()).split(".");
      const header = { alg: first.alg, kid: first.kid, crit: ["unheard-of"], "unheard-of": true };
      const text = `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${payload}`;
      const signature = sign("sha256", Buffer.from(text), {
        key: first.privateKey,
        dsaEncoding: "ieee-p1363",
      });
      return `${text}.${signature.toString("base64url")}`;
    },
    "the server's own name as its issuer": async () => {
      const { keys } = (await client.get("/.well-known/jwks.json")).body;
      return await token({ iss: "harness" }, first, { kid: keys[0].kid, typ: "at+jwt" });
    },
  };
  for (const [what, make] of Object.entries(bad)) {
    test(`OAU-7 a token with ${what} is 401 unauthenticated and the error does not say why`, async () => {
      // Given a token with ${what}, when it is used, then it is 401 unauthenticated and does not say why.
      const answer = await use(await make());
      const { request_id: _, ...error } = errorOf(answer, 401);
      const { request_id: __, ...expected } = errorOf(await use("wrong"), 401);
      assert.deepEqual(error, expected);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="bridle", error="invalid_token"');
    });
  }

  test("SEC-M1 a token of another issuer makes no key that ends later than the token", async () => {
    const exp = seconds() + 60;
    const holder = client.as(await token({ scope: "api_keys:write sessions:read", exp }));
    const key = { name: "child", actor: "robot", scopes: ["sessions:read"] };
    errorOf(await holder.post("/v1/api-keys", { ...key, expires_at: null }), 403);
    const late = new Date((exp + 3600) * 1000).toISOString();
    errorOf(await holder.post("/v1/api-keys", { ...key, expires_at: late }), 403);
    const { status, body } = await holder.post("/v1/api-keys", key);
    assert.equal(status, 201, JSON.stringify(body));
    // The clocks of the issuer and of this server may differ by some seconds.
    assert.ok(Date.parse(body.expires_at) <= (exp + 60) * 1000, body.expires_at);
  });

  test("OAU-7 a token with only unknown scopes is authenticated and may do nothing", async () => {
    // Given a token whose scopes mean nothing here, when it is used, then it is known and may do nothing.
    errorOf(await use(await token({ scope: "openid profile" })), 403);
    assert.equal((await client.as(await token({ scope: "" })).get("/v1/capabilities")).status, 200);
  });
});

describe("The keys of issuers", () => {
  test("OAU-8 the key set is fetched once and again only for a new key, not for each unknown one", async () => {
    // Given many tokens, known and unknown keys, when they are used, then the key set is fetched once and again only for
    // a key that is new, not for every one.
    await Promise.all(Array.from({ length: 20 }, async (_, n) => await use(await token({ jti: `a${n}` }))));
    const before = login.asked.keys;
    assert.equal(before, 1);
    // Within the pause after a fetch nobody is asked again, whatever key ids are made up.
    for (let n = 0; n < 20; n++)
      errorOf(await use(await token({}, { ...unpublished, kid: `made-up-${n}` })), 401);
    assert.equal(login.asked.keys, before);
  });

  test("OAU-8 an issuer without keys answers 502, is not asked every time, and others keep working", async () => {
    // Given an issuer that gives no keys, when its tokens are used, then it is 502, it is not asked every time, and
    // others work.
    for (let n = 0; n < 5; n++) {
      const answer = await use(await token({ iss: deadIssuer, jti: `d${n}` }));
      assert.equal(errorOf(answer, 502).code, "upstream_unavailable");
    }
    assert.equal(login.asked.dead, 1);
    assert.equal((await use(await token())).status, 200);
    assert.match(server.output(), /dead\.example\.com.*Cannot fetch the JWKS/);
  });

  test("OAU-8 an enormous key set of an issuer is not read to the end", async () => {
    // Given an issuer whose key set is enormous, when its token is used, then it is not read to the end.
    assert.equal(errorOf(await use(await token({ iss: hugeIssuer })), 502).code, "upstream_unavailable");
  });

  test("OAU-8 invalid issuer settings stop the server start with one line and exit code 2", async () => {
    // Given settings of issuers that cannot be right, when the server is started, then it is one line and exit code 2.
    const wrong: Record<string, string[]> = {
      "no keys": ["--oauth-issuer", "https://login.example.com", "--oauth-audience", "a"],
      "keys over plain http": [
        ...["--oauth-issuer", "https://login.example.com=http://login.example.com/keys"],
        ...["--oauth-audience", "a"],
      ],
      "no audience": ["--oauth-issuer", "https://login.example.com=https://login.example.com/keys"],
    };
    const refuse = async ([what, flags]: [string, string[]]) =>
      assert.match(errorLine(await bridle(["serve", "--port", "0", ...flags]), 2), /oauth-issuer/, what);
    await Promise.all(Object.entries(wrong).map(refuse));
    const file = join(directory.path, "no-keys.json");
    await writeFile(file, "{");
    const data = join(directory.path, "data");
    const flags = [
      "--port",
      "0",
      "--data",
      data,
      "--oauth-issuer",
      `https://a=${file}`,
      "--oauth-audience",
      "a",
    ];
    assert.match(errorLine(await bridle(["serve", ...flags]), 1), /no-keys\.json is not a JSON Web Key Set/);
  });
});
