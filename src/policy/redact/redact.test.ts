/** Credentials and private thoughts go, everything else stays, and it takes no time. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { placeholder, type RedactedKind, redactedKindsIn } from "./kinds.ts";
import { Redactor } from "./redact.ts";

const adminKey = "operator-chose-this-key";
const redactor = new Redactor([adminKey, "short"]);

// Fakes, put together here so that no scanner of this repository takes them for real ones.
const random43 = "Zm9vYmFyLXRoaXMtaXMtbm90LWEtcmVhbC1rZXktMDE";
const jwt = ["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiJjYW5hcnkifQ", "c2lnbmF0dXJlLWNhbmFyeQ"].join(".");
const dashes = "-".repeat(5);
const pem = (label: string, newline: string) =>
  [
    `${dashes}BEGIN ${label}${dashes}`,
    "MIIEvQIBADANBgkq",
    "hkiG9w0BAQEF",
    `${dashes}END ${label}${dashes}`,
  ].join(newline);

/** What is around a secret, the secret, and the kind it is of. */
type Positive = [before: string, secret: string, after: string, kind: RedactedKind];

const positives: Record<string, Positive[]> = {
  "private keys": [
    ["key:\n", pem("PRIVATE KEY", "\n"), "\nthanks", "private_key"],
    ["key: ", pem("RSA PRIVATE KEY", "\r\n"), ".", "private_key"],
    ['{"pem":"', pem("EC PRIVATE KEY", "\\n"), '\\n"}', "private_key"],
    ['{"log":"{\\"pem\\":\\"', pem("ENCRYPTED PRIVATE KEY", "\\\\n"), '\\"}"}', "private_key"],
    ["", pem("OPENSSH PRIVATE KEY", "\n"), "", "private_key"],
    ["", pem("PGP PRIVATE KEY BLOCK", "\n"), "\n", "private_key"],
    ["flattened ", pem("PRIVATE KEY", " "), " end", "private_key"],
    ["cut off: ", `${dashes}BEGIN PRIVATE KEY${dashes}\nMIIEvQIBADANBgkq\nhkiG9w0B`, "", "private_key"],
    ["[", pem("PRIVATE KEY", '", "'), '"].join("\\n")', "private_key"],
    [
      '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS","d":"',
      "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
      '"}',
      "private_key",
    ],
    ['{\\"kty\\":\\"oct\\",\\"k\\":\\"', "GawgguFyGrWKav7AX4VKUg", '\\"}', "private_key"],
  ],
  "bearer tokens": [
    ["Authorization: Bearer ", "abcDEF12", "", "bearer_token"],
    ["curl -H 'authorization: bearer ", "canary-token-value", "' https://example.com", "bearer_token"],
    ["sent Bearer ", `bridle_key_01JZ6Y2ZKMB8H8DMXBGXR1FPGS_${random43}`, " twice", "bearer_token"],
    ["Bearer ", jwt, ", then", "bearer_token"],
    ["Bearer ", "mF_9.B5f-4.1JqM==", "", "bearer_token"],
    ["?auth=Bearer%20", "abcDEF12345", "&x=1", "bearer_token"],
    ['headers.set("Authorization", "Bearer ', "abcdef123456", '");', "bearer_token"],
    ["Authorization: Bearer ", "mysecretword", "\nAccept: */*", "bearer_token"],
    ["Authorization: token ", "abcdef123456", "\n", "bearer_token"],
  ],
  "other authorizations": [
    ["Authorization: Basic ", "dXNlcjpwYXNzd29yZA==", "\r\nHost: example.com", "password"],
    ["Proxy-Authorization: basic ", "YWRtaW46aHVudGVyMg==", "", "password"],
    ['{"authorization":"Basic ', "dXNlcjpwYXNz", '"}', "password"],
    ["Authorization: ", "abc123def456", "\n", "secret"],
    ["Cookie: theme=dark; session=", "abc123def456", "; lang=en", "secret"],
    ["< Set-Cookie: sid=", "s3A1b2c3d4e5", "; Path=/app12345; HttpOnly", "secret"],
  ],
  "JSON Web Tokens": [
    ["the cookie was ", jwt, " and expired", "jwt"],
    ["", jwt, "", "jwt"],
    ["line one\\n", jwt, "\\nline two", "jwt"],
    ["encrypted: ", `${jwt}.Y2lwaGVy.dGFn`, ";", "jwt"],
    ["direct: ", "eyJhbGciOiJkaXIifQ..aXYtaXYtaXY.Y2lwaGVy.dGFn", ";", "jwt"],
  ],
  "keys with a prefix": [
    ["use ", "sk-canary12", " here", "api_key"],
    ["use ", "sk-test-canary", " here", "api_key"],
    ["", "ghp_secretcanary", "", "api_key"],
    ["use ", `sk-proj-${random43}`, ".", "api_key"],
    ["use '", "sk-ant-api03-abcDEF123456", "'", "api_key"],
    ["use ", "sk-abcdefghijklmnopqrst", "", "api_key"],
    ["git clone https://", "ghp_abcDEF123456", "@github.com/a/b", "api_key"],
    ["", "gho_abcDEF123456", "", "api_key"],
    ["", "ghu_abcDEF123456", "", "api_key"],
    ["", "ghs_abcDEF123456", "", "api_key"],
    ["", "ghr_abcDEF123456", "", "api_key"],
    ["(", "github_pat_11ABC_defGHI456", ")", "api_key"],
    ["", "glpat-abcDEF_12-34", "", "api_key"],
    ["", ["xoxb", "123456789012", "abcDEF"].join("-"), "", "api_key"],
    ["", "AKIAIOSFODNN7EXAMPLE", "/20260501/eu-central-1", "api_key"],
    ["X-Amz-Credential=", "ASIAIOSFODNN7EXAMPLE", "%2F20260501", "api_key"],
    ["https://maps.example.com/?key=", "AIzaSyA-abcDEF123456", "&q=x", "api_key"],
    ["", ["sk", "live", "abcDEF123456"].join("_"), "", "api_key"],
    ["", ["rk", "live", "abcDEF123456"].join("_"), "", "api_key"],
    ["", ["sk", "test", "abcDEF123456"].join("_"), "", "api_key"],
    ["", "npm_abcDEF123456", "", "api_key"],
    ["", "hf_abcDEF123456", "", "api_key"],
    ["", "SG.abcDEF123456.ghiJKL789", " sent", "api_key"],
    ["", "whsec_abcDEF123456", "", "api_key"],
    ["", `bridle_admin_${random43}`, "\n", "api_key"],
    ["", `bridle_key_01JZ6Y2ZKMB8H8DMXBGXR1FPGS_${random43}`, "\n", "api_key"],
    ["first\\n", "sk-canary123", "\\nsecond", "api_key"],
    ["next%3D", "sk-canary123", "%26", "api_key"],
    ["\u001b[32m", "sk-canary123", "\u001b[0m", "api_key"],
  ],
  "credentials in URLs": [
    ["postgres://app:", "hunter2", "@db.internal:5432/app", "url_credentials"],
    ["redis://:", "p4ss", "@localhost:6379", "url_credentials"],
    ["see https://me:", "p@ss%2Fword", "@example.com/path?x=1 and", "url_credentials"],
    ["amqp+ssl://u:", "12345", "@[::1]:5671", "url_credentials"],
  ],
  assignments: [
    ["password: ", "hunter2hunter2", "", "password"],
    ["DB_PASSWORD=", "hunter2hunter2", "\nDB_HOST=db1.internal", "password"],
    ["export DB_PASSWORD='", "hunter2,hunter2", "'", "password"],
    ["DB_PASSWORD=", "hunt,er;2&h)unter", "\nDB_HOST=x", "password"],
    ["PASSWORD_ADMIN=", "hunter2hunter2", "", "password"],
    ["secretAccessKey: '", "abcdef123456", "'", "secret"],
    ["passwd = ", "hunter2hunter2", ", user = me", "password"],
    ["Server=x;Pwd=", "hunter2hunter2", ";Database=y", "password"],
    ["AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", "secret"],
    ['{"client_secret": "', "abcdef123456", '", "x": 1}', "secret"],
    ['{\\"client_secret\\":\\"', "abcdef123456", '\\",\\"x\\":1}', "secret"],
    ['{\\\\\\"secret\\\\\\":\\\\\\"', "abcdef123456", '\\\\\\",\\\\\\"x\\\\\\":1}', "secret"],
    ["{'api_key': '", "abcdef123456", "'}", "api_key"],
    ["apikey=", "abcdef123456", "&page=2", "api_key"],
    ["api-key: ", "abcdef123456", "\r\n", "api_key"],
    ["X-Api-Key: ", "abcdef123456", "\r\nHost: x", "api_key"],
    ['const apiKey = "', "abcdef123456", '";', "api_key"],
    ['const token: string = "', "abcdef123456", '";', "bearer_token"],
    ['token = b"', "abcdef123456", '"', "bearer_token"],
    ["https://example.com/cb?access_token=", "abcdef123456", "&state=x", "bearer_token"],
    ["refresh_token=", "abcdef123456", "", "bearer_token"],
    ["auth_token: ", "abcdef123456", ".", "bearer_token"],
    ["id_token=", "abcdef123456", " and", "bearer_token"],
    ["//registry.example.com/:_authToken=", "abcdef123456", "\n", "bearer_token"],
    ["private_key = ", "abcdef123456", "", "private_key"],
    ["deploy --token ", "abcdef123456", " --verbose", "bearer_token"],
    ["deploy --token=", "abcdef123456", " --verbose", "bearer_token"],
    ["user[password]=", "hunter2hunter2", "&user[name]=me", "password"],
    ["'password' => '", "hunter2hunter2", "',", "password"],
    ["**Password:** ", "hunter2hunter2", "\n", "password"],
    ["password := `", "hunter2hunter2", "`", "password"],
    ["<a href=x?token=", "abcdef123456", ">go</a>", "bearer_token"],
    ['password="', 'hunter2\\"hunter2', '" ok', "password"],
    ["DefaultEndpointsProtocol=https;AccountKey=", "abcDEF123456==", ";EndpointSuffix=x", "api_key"],
  ],
  "private thoughts": [
    ["<thinking>", "The user seems upset.", "</thinking>Hello!", "hidden_reasoning"],
    ["<think>", "\nFirst,\nsecond.\n", "</think>\nDone", "hidden_reasoning"],
    ["<think>", "I was cut off while", "", "hidden_reasoning"],
    ['{"content":"Hi","reasoning_content":"', 'The user said \\"hi\\".', '"}', "hidden_reasoning"],
    ['{\\"thinking\\":\\"', "Let me think about this.", '\\",\\"x\\":1}', "hidden_reasoning"],
  ],
  "values that were named": [
    ["key ", adminKey, "!", "secret"],
    ["glued", adminKey, "together", "secret"],
  ],
};

const negatives: Record<string, string[]> = {
  identifiers: [
    "task_01JZ6Y2ZKMB8H8DMXBGXR1FPGS",
    "key_01JZ6Y2ZKMB8H8DMXBGXR1FPGS was revoked",
    "evt_0000000000000001",
    "550e8400-e29b-41d4-a716-446655440000",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "integrity sha512-9s8dK2jLm3nB4vC5xZ6aS7dF8gH9jK0lQwErTyUiOp==",
    "2026-05-01T12:00:00.000Z",
    `data:image/png;base64,${Buffer.from(Array.from({ length: 600 }, (_, n) => (n * 131) % 256)).toString("base64")}`,
    "eyJvZmZzZXQiOjEwMH0",
    "ciphertext -sk-abcDEF123456_hf_abcDEF123456",
    "bridle_key_rotations_total 12",
    "npm_config_registry, npm_package_version and npm_lifecycle_event",
    "hf_hub_download(repo_id='x', filename='model-00001.bin')",
    ".sk-folding-cube .sk-circle12:before { width: 33% }",
    "task-0123456789 and disk-0123456789",
    "ASIANMARKETS",
  ],
  urls: [
    "https://example.com:8080/path?query=value12345#part",
    "git@github.com:org/repo.git",
    "http://localhost:3000/@scope/package",
    "mailto:someone@example.com",
    "https://user@example.com/x",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is meant
    "postgres://app:${DB_PASS}@db:5432/app",
    "https://example.com/list?page_token=abcdef123456&limit=10",
  ],
  prose: [
    "the secret of success is 100% effort",
    "Secret: there is none.",
    "password: required",
    "Password must be at least 8 characters",
    '{"password":"must have at least 8 characters, 1 digit"}',
    "Use Bearer authentication, or bearer tokens/cookies, or Bearer token-based sessions.",
    "Send a valid API key as Authorization: Bearer <key>.",
    'Authorization: Bearer $BRIDLE_KEY, "Authorization: Bearer YOUR_API_KEY"',
    'WWW-Authenticate: Bearer resource_metadata="https://example.com/.well-known/x"',
    "It handles authorization, token validation and logging.",
    "Basic understanding of Authorization: required knowledge",
    "a bearer of 12345678 gifts",
    "tokens: 128k-context, tokenizer: cl100k_base",
    "my secretary: employee-0042",
    "Put it between <thinking> tags.",
    "Put it between `<thinking>` and `</thinking>`.",
    "<thinking></thinking>Answer",
    `A key starts with "${dashes}BEGIN PRIVATE KEY${dashes}" and then comes base64.`,
    `${dashes}BEGIN CERTIFICATE${dashes}\nMIIEvQIBADANBgkq\n${dashes}END CERTIFICATE${dashes}`,
    `${dashes}BEGIN PUBLIC KEY${dashes}\nMIIEvQIBADANBgkq\n${dashes}END PUBLIC KEY${dashes}`,
    "PWD=/home/user1/project2\nOLDPWD=/home/user1",
    "Set-Cookie: theme=dark; Path=/app12345; Domain=app1.example.com",
  ],
  settings: [
    "max_tokens: 1000",
    "max_tokens=4096k1234",
    '{"input_tokens":12345678,"output_tokens":"12345678"}',
    "TOKEN_URL=https://auth.example.com/oauth2/v1/token",
    "PASSWORD_FILE=/run/secrets/db_password_1",
    "secretName: my-app-secret-v12",
    "access_key_id: abcdef123456",
    "accessKeyId: 'abcdef123456'",
    "token_hash=9f86d081884c7d659a2f",
    '"json-web-token": "^1.2.3-beta.4",',
    "ssl_private_key: /etc/ssl/private/server1.pem",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is meant
    "token: ${{ secrets.NPM_TOKEN_2 }}",
    "token: <your-token-1234>",
    "password = {{ vault_password_2 }}",
    "API_KEY=YOUR_API_KEY_1",
    '"thinking": "Thinking…"',
    '{"type":"string","description":"The token to use"}',
    "passphrase: &#x3C;string|buffer>",
  ],
  code: [
    "const token = parser.next();",
    "token = parser.next2();",
    "const token = tokens[index1].value;",
    "const secret = segments[1];",
    "const password = process.env.DB_PASSWORD_2;",
    "let apiKey = config.oauth2.apiKey;",
    "const token = result1.token;",
    "const accessToken = accessToken2;",
    "function sign(secret: Uint8Array, token: Base64String): string",
    "const secret = sha256Hash;",
    'if (token.kind === SyntaxKind.Identifier2) return "token";',
    'case "token": return parseToken2(input);',
    "headers: { authorization: `Bearer $" + "{key}` }",
    'request.headers["authorization"]?.split(" ")[1]',
    'const key = headers["x-api-key"];',
    "src/policy/token.ts:12:export function readToken1()",
    "src/policy/api-key.ts:104:const pattern1 = /x/",
    `if (text.includes("${dashes}BEGIN PRIVATE KEY${dashes}")) found2();\nmore();`,
    `/${dashes}BEGIN PRIVATE KEY${dashes}[\\s\\S]*?${dashes}END PRIVATE KEY${dashes}/g`,
    `const pem = \`${dashes}BEGIN PRIVATE KEY${dashes}\\n$` +
      `{der.toString("base64")}\\n${dashes}END PRIVATE KEY${dashes}\`;`,
    "const token = /[a-z0-9_]+/y;",
    'text.split("<think>")[1].split("</think>")[0]',
    "text.replace(/<thinking>[\\s\\S]*?<\\/thinking>/g, '')",
    "type Token = { kind: 'number2' | 'string8' };",
    "for (const token of lexer1) count += token.length;",
    "password: z.string().min(8).max(64),",
    "expect(token).toBe('x'); // token => token.value1",
    "cookie: parseCookie1(request.headers.cookie)",
  ],
};

function assertRedacted([before, secret, after, kind]: Positive): void {
  assert.equal(redactor.text(`${before}${secret}${after}`), `${before}${placeholder(kind)}${after}`);
}

describe("texts", () => {
  for (const [what, examples] of Object.entries(positives)) {
    test(`given texts with ${what}, when they are redacted, then only those are gone`, () => {
      for (const example of examples) assertRedacted(example);
    });
  }

  for (const [what, examples] of Object.entries(negatives)) {
    test(`leaves ${what} that only look suspicious unchanged`, () => {
      // Given ${what} that only look suspicious, when they are redacted, then they stay as they are.
      for (const example of examples) assert.equal(redactor.text(example), example);
    });
  }

  test("given the source of this very module, when it is redacted, then it stays as it is", async () => {
    const { readFile } = await import("node:fs/promises");
    const source = await readFile(new URL("./redact.ts", import.meta.url), "utf8");
    assert.equal(redactor.text(source), source);
  });

  test("redacts each of several secrets in one text and lists every kind once", () => {
    // Given several secrets in one text, when it is redacted, then each goes and the kinds are listed once.
    const text = `DB_PASSWORD=hunter2hunter2 API_PASSWORD=hunter3hunter3 Authorization: Bearer abcdef123456 ${jwt}`;
    const redacted = redactor.text(text);
    assert.equal(
      redacted,
      "DB_PASSWORD=[redacted:password] API_PASSWORD=[redacted:password] Authorization: Bearer [redacted:bearer_token] [redacted:jwt]",
    );
    assert.deepEqual(redactedKindsIn(redacted), ["bearer_token", "jwt", "password"]);
    assert.deepEqual(redactedKindsIn(text), []);
    assert.deepEqual(redactedKindsIn("[redacted:nonsense] [redacted]"), []);
  });

  test("redacts adjacent secrets that only show once their neighbor is replaced", () => {
    // Given secrets that one another's ends lay bare, when they are redacted, then all of them go.
    const examples = {
      "password=ghp_abcDEF123456!tail99 and": "password=[redacted:password] and",
      "AKIAIOSFODNN7EXAMPLE/sk-canary123": "[redacted:api_key]/[redacted:api_key]",
      "password=x1token=ghp_abcDEF123456$0 end": "password=[redacted:password] end",
      "password=x1y2z3w4=[redacted:api_key]] end": "password=[redacted:password]] end",
    };
    for (const [text, redacted] of Object.entries(examples)) assert.equal(redactor.text(text), redacted);
  });

  test("given a named secret, when it occurs as JSON or a URL spells it, then it goes too", () => {
    const named = new Redactor(['pa"ss w/rd', 'pa"ss w/rd and more']);
    for (const spelling of ['pa"ss w/rd', 'pa\\"ss w/rd', "pa%22ss%20w%2Frd", 'pa"ss w/rd and more']) {
      assert.equal(named.text(`<${spelling}>`), "<[redacted:secret]>");
    }
  });

  test("a redactor extended with named secrets redacts the earlier and the added ones", () => {
    // Given a redactor with more named secrets, when a text is redacted, then the first ones and those go.
    const more = redactor.with(["another-named-value"]);
    assert.equal(more.text(`${adminKey} another-named-value`), "[redacted:secret] [redacted:secret]");
    assert.equal(redactor.text("another-named-value"), "another-named-value");
  });

  test("named secrets that are too short or part of placeholders do not mangle the text", () => {
    // Given named secrets that are too short or occur in placeholders, when a text is redacted, then it is not torn up.
    assert.equal(redactor.text("a short text"), "a short text");
    const named = new Redactor(["redacted", "password", ""]);
    assert.equal(named.text("password redacted"), "[redacted:secret] [redacted:secret]");
    assert.equal(named.text("[redacted:password]"), "[redacted:password]");
  });
});

describe("values", () => {
  test("redacts the whole string of members whose names announce a secret", () => {
    // Given members whose names announce a secret, when a value is redacted, then their strings go whole.
    const names: Record<string, RedactedKind> = {
      password: "password",
      passwd: "password",
      secret: "secret",
      client_secret: "secret",
      clientSecret: "secret",
      api_key: "api_key",
      apiKey: "api_key",
      APIKEY: "api_key",
      "X-Api-Key": "api_key",
      access_token: "bearer_token",
      refreshToken: "bearer_token",
      auth_token: "bearer_token",
      "id-token": "bearer_token",
      private_key: "private_key",
      Authorization: "bearer_token",
      "Proxy-Authorization": "bearer_token",
      cookie: "secret",
      "Set-Cookie": "secret",
      reasoning_content: "hidden_reasoning",
      chain_of_thought: "hidden_reasoning",
      hiddenReasoning: "hidden_reasoning",
      thinking: "hidden_reasoning",
    };
    for (const [name, kind] of Object.entries(names)) {
      assert.deepEqual(redactor.value({ deep: [{ [name]: "x y" }] }), {
        deep: [{ [name]: placeholder(kind) }],
      });
    }
  });

  test("keeps non-string values of members with secret names and walks into objects", () => {
    // Given such members that hold no string, when a value is redacted, then they stay, and objects are walked.
    const same = {
      password: "",
      secret: null,
      api_key: 7,
      cookie: true,
      thinking: { type: "enabled", budget_tokens: 9 },
    };
    assert.equal(redactor.value(same), same);
    const schema = { properties: { password: { type: "string", default: "sk-canary123" } } };
    assert.deepEqual(redactor.value(schema), {
      properties: { password: { type: "string", default: "[redacted:api_key]" } },
    });
  });

  test("given a header that came twice, when a value is redacted, then each of its strings goes", () => {
    assert.deepEqual(redactor.value({ "set-cookie": ["a=b", "c=d"] }), {
      "set-cookie": ["[redacted:secret]", "[redacted:secret]"],
    });
  });

  test("given a member called token, when a value is redacted, then only what looks random goes", () => {
    const same = {
      token: "identifier",
      nested: { token: "if" },
      tokens: ["abcdef123456"],
      next_page_token: "abcdef123456",
    };
    assert.equal(redactor.value(same), same);
    assert.deepEqual(redactor.value({ token: "abcdef12" }), { token: "[redacted:bearer_token]" });
  });

  test("redacts the text of a model's thoughts and keeps their summary", () => {
    // Given parts that are a model's thoughts, when a value is redacted, then their text goes and their summary stays.
    const message = [
      { type: "thinking", thinking: "Hm.", signature: "x" },
      { type: "redacted_thinking", data: "b64" },
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "In short" }],
        content: [{ type: "reasoning_text", text: "At length" }],
      },
      { type: "text", text: "Hello", data: "stays", content: "stays" },
      { reasoning_content: [{ type: "text", text: "Hm." }] },
    ];
    const gone = "[redacted:hidden_reasoning]";
    assert.deepEqual(redactor.value(message), [
      { type: "thinking", thinking: gone, signature: "x" },
      { type: "redacted_thinking", data: gone },
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "In short" }],
        content: [{ type: "reasoning_text", text: gone }],
      },
      message[3],
      { reasoning_content: [{ type: "text", text: gone }] },
    ]);
  });

  test("given a key for signing as a JWK, when a value is redacted, then its public half stays", () => {
    assert.deepEqual(redactor.value({ kty: "OKP", crv: "Ed25519", x: "public", d: "private" }), {
      kty: "OKP",
      crv: "Ed25519",
      x: "public",
      d: "[redacted:private_key]",
    });
    const same = { d: "M0 0h24v24H0z", p: "paragraph" };
    assert.equal(redactor.value(same), same);
  });

  test("given secrets as names of members, when a value is redacted, then no member is lost", () => {
    const value = { "sk-canary111": 1, plain: 2, "sk-canary222": 3 };
    assert.deepEqual(redactor.value(value), { "[redacted:api_key]": 1, plain: 2, "[redacted:api_key]#2": 3 });
    const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`sk-canary${n}`, n]));
    assert.deepEqual(Object.values(redactor.value(many)), Object.values(many));
  });

  test("given a member called __proto__, when its object is copied, then it is a member still", () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1},"password":"x"}');
    assert.equal(
      JSON.stringify(redactor.value(value)),
      '{"__proto__":{"a":1},"password":"[redacted:password]"}',
    );
  });

  test("given a value without secrets, when it is redacted, then it is the very same", () => {
    const value = {
      id: "task_01JZ6Y2ZKMB8H8DMXBGXR1FPGS",
      parts: [{ type: "text", text: "Hello" }],
      numbers: [1, Number.NaN, -0, null, true, undefined],
      bytes: new TextEncoder().encode("password=hunter2hunter2"),
      date: new Date(0),
    };
    assert.equal(redactor.value(value), value);
    for (const plain of ["Hello", 7, null, undefined, true, value.bytes, value.date]) {
      assert.equal(redactor.value(plain), plain);
    }
  });

  test("redacting one secret leaves the input untouched and shares all other parts", () => {
    // Given a value with one secret, when it is redacted, then the input is not touched and all else is shared.
    const value = Object.freeze({
      clean: Object.freeze({ a: Object.freeze(["b"]) }),
      dirty: Object.freeze([Object.freeze({ c: 1 }), Object.freeze({ password: "x" })]),
      bytes: new Uint8Array(3),
    });
    const redacted = redactor.value(value);
    assert.deepEqual(redacted.dirty, [{ c: 1 }, { password: "[redacted:password]" }]);
    assert.deepEqual(value.dirty[1], { password: "x" });
    assert.equal(redacted.clean, value.clean);
    assert.equal(redacted.dirty[0], value.dirty[0]);
    assert.equal(redacted.bytes, value.bytes);
    assert.deepEqual(Object.keys(redacted), Object.keys(value));
  });

  test("redacts a secret nested a hundred levels deep", () => {
    // Given a value nested a hundred levels deep, when it is redacted, then the secret at the bottom goes.
    const nest = (bottom: unknown) => {
      let value = bottom;
      for (let n = 0; n < 50; n++) value = { member: [value] };
      return value;
    };
    assert.deepEqual(redactor.value(nest("sk-canary123")), nest("[redacted:api_key]"));
  });
});

describe("properties", () => {
  const fragment = fc.oneof(
    fc.string(),
    fc.constantFrom(...Object.values(positives).flat().flat()),
    fc.constantFrom(...Object.values(negatives).flat()),
    fc.constantFrom(
      "[redacted:password]",
      "[redacted:bearer_token]",
      "[redacted:",
      "]",
      "=",
      ": ",
      '"',
      "\\",
      "&",
      "\n",
    ),
  );
  const text = fc.array(fragment, { maxLength: 8 }).map((fragments) => fragments.join(""));

  test("redacting any text a second time changes nothing", () => {
    // Given any text made of secrets and their surroundings, when it is redacted twice, then the second time changes
    // nothing.
    fc.assert(
      fc.property(text, (any) => {
        const once = redactor.text(any);
        assert.equal(redactor.text(once), once);
      }),
      { numRuns: cases(5000) },
    );
  });

  test("redacting any value a second time returns the same object", () => {
    // Given any value, when it is redacted twice, then the second time gives the same object back.
    const key = fc.oneof(
      text,
      fc.constantFrom("password", "token", "thinking", "type", "kty", "d", "set-cookie"),
    );
    const leaf = fc.oneof(text, fc.constantFrom("thinking", "reasoning"), fc.integer(), fc.constant(null));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(key, tie("value"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, (any) => {
        const before = JSON.stringify(any);
        const once = redactor.value(any);
        assert.equal(JSON.stringify(any), before);
        assert.equal(redactor.value(once), once);
      }),
      { numRuns: cases(2000) },
    );
  });

  test("given any secret between spaces, when the text around it is anything, then it is gone", () => {
    const secret = fc.constantFrom(adminKey, jwt, "ghp_abcDEF123456", `bridle_admin_${random43}`);
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), (before, hidden, after) => {
        assert.ok(!redactor.text(`${before} ${hidden} ${after}`).includes(hidden));
      }),
      { numRuns: cases(2000) },
    );
  });
});
