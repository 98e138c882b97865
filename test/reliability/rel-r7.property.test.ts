/** REL-R7: redaction leaves ids, hashes and encoded bytes as they are, and no planted secret behind. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Redactor } from "../../src/policy/redact/redact.ts";
import { isThorough, randomFrom } from "../runner/seed.ts";

const redactor = new Redactor();
const random = randomFrom();
const pick = <T>(items: readonly [T, ...T[]]): T => items[Math.floor(random() * items.length)] ?? items[0];
const bytes = (count: number) => Buffer.from(Array.from({ length: count }, () => Math.floor(random() * 256)));
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const letters = (alphabet: string, count: number) =>
  Array.from({ length: count }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join("");

const kinds = ["task", "session", "message", "api_key", "key", "secret", "token", "req", "schedule"] as const;
/** As `createIds` makes them, but by the seed. */
const id = () => `${pick(kinds)}_01${letters(digits, 24)}`;
const opaque: readonly [() => string, ...(() => string)[]] = [
  id,
  () => createHash("sha256").update(bytes(16)).digest("hex"),
  () => `sha256:${bytes(32).toString("hex")}`,
  () => `sha512-${bytes(64).toString("base64")}`,
  () => bytes(16).toString("base64"),
  () => bytes(33).toString("base64"),
  () => bytes(200).toString("base64"),
  () =>
    bytes(16)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"),
];
/** How they stand in texts: before a colon, as a member's name, in an address. */
const around: readonly [(text: string) => string, ...((text: string) => string)[]] = [
  (text) => text,
  (text) => `${text}:step:fetch-page-1:12`,
  (text) => `${text}:effect:pay back 2nd:1`,
  (text) => `{"${text}":"value-12345678"}`,
  (text) => `see ${text}: run 01M7PKGXA2, then stop`,
  (text) => `https://example.com/v1/tasks/${text}?cursor=abc12345`,
  (text) => `${text}=${text}`,
];

const opaqueCount = isThorough ? 1_000_000 : 20_000;
const secretCount = isThorough ? 10_000 : 1_000;

test("REL-R7 the id that was taken for a password stays, whatever stands around it", () => {
  const key = "task_01M7PKGXA29FGG8XPWD7EG6HNH:step:s0:1";
  for (const text of [key, `"${key}"`, `(${key})`, `done ${key}`, `\\n${key}`]) {
    assert.equal(redactor.text(text), text);
  }
});

test(`REL-R7 ${opaqueCount} generated ids, hashes and encoded bytes are not altered`, () => {
  for (let n = 0; n < opaqueCount; n++) {
    const text = pick(around)(pick(opaque)());
    assert.equal(redactor.text(text), text);
  }
});

test("REL-R7 ids that hold a word for a secret by chance are not altered", () => {
  for (let n = 0; n < opaqueCount / 10; n++) {
    const word = pick(["PWD", "T0KEN", "PWD9", "XPWD", "PWDX"]);
    const at = Math.floor(random() * (24 - word.length));
    const text = `task_01${letters(digits, at)}${word}${letters(digits, 24 - at - word.length)}:step:s0:12345678`;
    assert.equal(redactor.text(text), text);
  }
});

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/** Random, with a letter and a digit, as passwords and tokens are. */
const secretText = () => `k${letters(alphanumeric, 14)}7`;
const names = [
  ...["password", "PASSWORD", "dbPassword", "DB_PASSWORD", "pgpassword", "MYSQL_PWD", "userPwd", "db-pwd"],
  ...["token", "oauth2Token", "OAUTH2_TOKEN", "x_token_2", "secret", "clientSecret", "auth0ClientSecret"],
  ...["apiKey", "xApiKey", "X-API-Key", "gpt4ApiKey", "awsSecretAccessKey", "s3SecretKey", "private_key"],
  ...["user_password1", "passphrase", "signing_key", "ENCRYPTION_KEY", "ACCOUNT_KEY", "my_task_token"],
] as const;
const name = () => names[Math.floor(random() * names.length)] ?? names[0];
const planted: readonly [(secret: string) => string, ...((secret: string) => string)[]] = [
  (secret) => `${name()}=${secret}`,
  (secret) => `"${name()}": "${secret}"`,
  (secret) => `${name()}: ${secret}`,
  (secret) => `\\n${name()}=${secret}\\n`,
  (secret) => `https://example.com/?a=1&${name()}=${secret}&b=2`,
  (secret) => `%26${name()}%3D${secret}`,
  (secret) => `{\\"${name()}\\":\\"${secret}\\"}`,
  (secret) => `--${name().replaceAll("_", "-")} ${secret}`,
  (secret) => `Authorization: Bearer ${secret}`,
  (secret) => `postgres://app:${secret}@db:5432/app`,
  (secret) => `ghp_${secret}`,
  (secret) => `${id()}_token=${secret}`,
];

test(`REL-R7 ${secretCount} planted secrets are all taken out`, () => {
  for (let n = 0; n < secretCount; n++) {
    const secret = secretText();
    const text = `${id()}: ${pick(planted)(secret)} (${bytes(16).toString("base64")})`;
    assert.ok(!redactor.text(text).includes(secret), text);
  }
});
