/** How values of options are read, whichever command has them, and what is said about those that cannot be. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { adminKeyCharsMin, isAdminKey } from "../../policy/admin-key.ts";
import type { TrustedIssuer } from "../../policy/external-issuers.ts";
import type { DiskFloor } from "../../store/sqlite/free-space.ts";
import { isLoopbackHost } from "../../surfaces/loopback.ts";
import { isUsable } from "../../surfaces/tls.ts";

/** In the environment there is no flag without a value, and "false" must not mean yes. */
export function trueOrFalse(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new InvalidArgumentError("It must be true or false.");
}

export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

const bytesByUnit = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 } as const;

/** A number of bytes, with or without a unit, or a share of the disk. */
export function diskFloor(text: string): DiskFloor {
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*([KMGT]?B|%)?$/i.exec(text.trim()) ?? [];
  const amount = Number(digits);
  if (digits === "" || (unit === "%" && amount >= 100)) {
    throw new InvalidArgumentError("It must be a size, like 512MB or 2GB, or a share of the disk, like 5%.");
  }
  if (unit === "%") return { bytes: Number.POSITIVE_INFINITY, share: amount / 100 };
  const known = Object.entries(bytesByUnit).find(([name]) => name === (unit.toUpperCase() || "B"));
  return { bytes: Math.round(amount * (known?.[1] ?? 1)), share: 1 };
}

/** A hundred years is as good as never, and a time that everything can still tell. */
export function daysOrNever(text: string): number | "never" {
  if (text === "never") return text;
  try {
    return wholeNumber(1, 36_500)(text);
  } catch {
    throw new InvalidArgumentError("It must be a whole number from 1 to 36500, or never.");
  }
}

export function rateOrOff(text: string): number | "off" {
  if (text === "off") return text;
  try {
    return wholeNumber(1, 10_000_000)(text);
  } catch {
    throw new InvalidArgumentError("It must be a whole number from 1 to 10000000, or off.");
  }
}

/** Nothing of it is repeated: it may have a password. */
export function databaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isKnown = url !== null && /^postgres(ql)?:$/.test(url.protocol);
  if (isKnown && url.pathname.length > 1) return text;
  throw new InvalidArgumentError("It must look like postgres://user:password@host:5432/database.");
}

export function portOrOff(text: string): number | "off" {
  if (text === "off") return text;
  try {
    return wholeNumber(0, 65_535)(text);
  } catch {
    throw new InvalidArgumentError("It must be a whole number from 0 to 65535, or off.");
  }
}

export interface PemFile {
  path: string;
  text: string;
}

/** A file that must hold PEM of that kind. */
export function pemFile(kind: string) {
  return (file: string): PemFile => {
    const text = readText(file);
    if (new RegExp(`^-----BEGIN [A-Z0-9 ]*${kind}-----`, "m").test(text)) {
      return { path: resolve(file), text };
    }
    throw new InvalidArgumentError(`There is no ${kind} in this file.`);
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new InvalidArgumentError(`The file cannot be read${code}.`);
  }
}

export function httpUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("It must be an http or https URL.");
}

/** One or more values, by repeated flags or, in the environment, with spaces between them. */
export function listOf<T>(parse: (text: string) => T) {
  return (text: string, before: readonly T[]): T[] => [
    ...before,
    ...text.split(/\s+/).filter(Boolean).map(parse),
  ];
}

export function trustedIssuer(text: string): TrustedIssuer {
  const [, issuer, jwks] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (issuer === undefined || jwks === undefined) {
    throw new InvalidArgumentError("It must be an issuer, an equals sign, and the URL or file of its keys.");
  }
  return { issuer, jwks: /^https?:/.test(jwks) ? keysUrl(jwks) : jwks };
}

/** Keys that somebody on the way can exchange prove nothing. */
function keysUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "https:" || isThisMachine(url))) return url;
  throw new InvalidArgumentError("Keys must be fetched by https, or from this machine.");
}

/** A key that is sent without TLS is everybody's, unless it stays on this machine. */
export function secureUrl(text: string): string {
  const url = httpUrl(text);
  if (url.startsWith("https:") || isThisMachine(URL.parse(url))) return url;
  throw new InvalidArgumentError("It must be https, or on this machine.");
}

function isThisMachine(url: URL | null): boolean {
  return url !== null && isLoopbackHost(url.hostname);
}

export function harpId(text: string): string {
  if (/^[\x21-\x7e]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError("It must have 1 to 128 letters, digits or signs, and no spaces.");
}

const proxyRanges = ["loopback", "linklocal", "uniquelocal"];

/** Never all addresses at once. */
function isRange(text: string): boolean {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bitsMax = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && (bits === undefined || (Number(bits) > 0 && Number(bits) <= bitsMax));
}

export function addressRange(text: string): string {
  if (isRange(text)) return text;
  throw new InvalidArgumentError("It must be an IP address, or a range such as 198.51.100.0/24.");
}

export function proxyAddress(text: string): string {
  if (isRange(text) || proxyRanges.includes(text)) return text;
  throw new InvalidArgumentError(`It must be an IP address, a range, or one of ${proxyRanges.join(", ")}.`);
}

export function hostName(text: string): string {
  if (URL.parse(`http://${text}`)?.hostname === text.toLowerCase()) return text.toLowerCase();
  throw new InvalidArgumentError("It must be a host name or an address, without a scheme and a port.");
}

export function webOrigin(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new InvalidArgumentError(
    "It must be an origin such as https://app.example.com, with nothing after it.",
  );
}

export function notEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

export interface TlsSettings {
  tlsCert?: PemFile;
  tlsKey?: PemFile;
  tlsClientCa?: PemFile;
}

/** What is wrong with certificates that are well-formed one by one. */
export function problemWithTls({ tlsCert, tlsKey, tlsClientCa }: TlsSettings): string | null {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    return "options '--tls-cert <file>' and '--tls-key <file>' need each other: set both, or neither.";
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    if (tlsClientCa === undefined) return null;
    return "option '--tls-client-ca <file>' needs TLS: set '--tls-cert <file>' and '--tls-key <file>' too.";
  }
  if (isUsable({ cert: tlsCert.text, key: tlsKey.text, clientCa: tlsClientCa?.text })) return null;
  return "options '--tls-cert <file>' and '--tls-key <file>': the key must be that of the certificate, and not locked with a passphrase.";
}

/** What is wrong with a key, in words that do not repeat it. */
export function problemWithApiKey(key: string | undefined): string | null {
  if (key === undefined || isAdminKey(key)) return null;
  return `option '--api-key <key>' (BRIDLE_API_KEY): a key has at least ${adminKeyCharsMin} characters and no spaces.`;
}
