/** The settings of every command that listens: where, with which certificates, and who is believed. */

import { Option } from "commander";
import { problemWithExposure, type Tls } from "../../surfaces/tls.ts";
import {
  hostName,
  listOf,
  notEmpty,
  pemFile,
  problemWithApiKey,
  problemWithTls,
  proxyAddress,
  type TlsSettings,
  trueOrFalse,
  wholeNumber,
} from "./option-parsers.ts";

const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export interface ListenSettings extends TlsSettings {
  port: number;
  host: string;
  data: string;
  apiKey?: string;
  logLevel: (typeof logLevels)[number];
  authFailures: number;
  trustProxy: string[];
  insecureHttp: boolean;
  allowedHosts: string[];
}

export function hostOption(host: string): Option {
  return new Option(
    "--host <address>",
    "address to listen on; the default is reachable from this machine only",
  )
    .env("BRIDLE_HOST")
    .default(host)
    .argParser(notEmpty);
}

export function tlsFileOptions(): Option[] {
  return [
    new Option("--tls-cert <file>", "TLS certificate chain (PEM); enables HTTPS on all ports")
      .env("BRIDLE_TLS_CERT")
      .argParser(pemFile("CERTIFICATE")),
    new Option("--tls-key <file>", "private key of the certificate (PEM, without a passphrase)")
      .env("BRIDLE_TLS_KEY")
      .argParser(pemFile("PRIVATE KEY")),
    new Option(
      "--tls-client-ca <file>",
      "certificates of those who vouch for clients (PEM); then every client has to show one",
    )
      .env("BRIDLE_TLS_CLIENT_CA")
      .argParser(pemFile("CERTIFICATE")),
  ];
}

export function tlsOf({ tlsCert, tlsKey, tlsClientCa }: TlsSettings): Tls | null {
  if (tlsCert === undefined || tlsKey === undefined) return null;
  return {
    cert: tlsCert.text,
    key: tlsKey.text,
    clientCa: tlsClientCa?.text,
    files: { cert: tlsCert.path, key: tlsKey.path, clientCa: tlsClientCa?.path },
  };
}

/** What is wrong with where and how a command is to listen. */
export function problemWithListening(settings: ListenSettings): string | null {
  const { host, insecureHttp, trustProxy } = settings;
  return (
    problemWithTls(settings) ??
    problemWithExposure({ host, insecureHttp, trustedProxies: trustProxy, tls: tlsOf(settings) }) ??
    problemWithApiKey(settings.apiKey)
  );
}

export function insecureHttpOption(): Option {
  return new Option(
    "--insecure-http [boolean]",
    "listen on other addresses than loopback without TLS and without a trusted proxy; API keys are then sent in clear text",
  )
    .env("BRIDLE_INSECURE_HTTP")
    .default(false)
    .preset("true")
    .argParser(trueOrFalse);
}

export function apiKeyOption(): Option {
  return new Option(
    "--api-key <key>",
    "a fixed administrator key, for scripts and tests; better set in the environment",
  ).env("BRIDLE_API_KEY");
}

export function authFailuresOption(max: number): Option {
  return new Option(
    "--auth-failures <number>",
    "wrong credentials a minute from one address before it must wait",
  )
    .env("BRIDLE_AUTH_FAILURES")
    .default(max)
    .argParser(wholeNumber(1, 1_000_000));
}

export function trustProxyOption(): Option {
  return new Option(
    "--trust-proxy <address...>",
    "proxies (IP or CIDR) whose X-Forwarded-For and X-Forwarded-Proto headers are trusted",
  )
    .env("BRIDLE_TRUST_PROXY")
    .default([], "none")
    .argParser(listOf(proxyAddress));
}

export function allowedHostsOption(): Option {
  return new Option(
    "--allowed-hosts <name...>",
    "host names under which clients reach the server, beside loopback names and the public URL's; when set, requests for others are refused",
  )
    .env("BRIDLE_ALLOWED_HOSTS")
    .default([], "none; on loopback only loopback names and the public URL's host")
    .argParser(listOf(hostName));
}

export function logLevelOption(): Option {
  return new Option("--log-level <level>", "how much to log, as JSON lines on standard error")
    .env("BRIDLE_LOG_LEVEL")
    .choices(logLevels)
    .default("info");
}
