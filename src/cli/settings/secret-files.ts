/**
 * Secrets from the environment, and from files, as containers mount them: what `NAME_FILE` names is read as if it were in `NAME`.
 * Not by flags, which are in the list of processes.
 */

import { readFileSync } from "node:fs";

/** The keys of model providers are read where they are used, in the same way. */
export const secretVariables = [
  "BRIDLE_API_KEY",
  "BRIDLE_KEY",
  "BRIDLE_MASTER_KEY",
  "BRIDLE_MASTER_KEY_PREVIOUS",
  "BRIDLE_GATEWAY_KEY",
  "BRIDLE_DATABASE_URL",
  "BRIDLE_APPROVER_PASSPHRASE",
] as const;
type SecretVariable = (typeof secretVariables)[number];

/** What a server is told by the environment only. */
export interface ServeSecrets {
  /** Of vaults: the master key, and the one before it. */
  masterKeys: readonly string[];
  /** For a gateway elsewhere. */
  gatewayKey: string | null;
  /** Variables that held a secret themselves, so that it stays in the initial environment of the process. */
  inEnvironment: readonly string[];
}

/**
 * Removes all secrets from the environment, so that the project's code does not see them and processes that agents start do
 * not inherit them. The operating system keeps the initial environment (/proc/PID/environ on Linux), where other processes of
 * the same user can read it; what is read from files was never there. Options that are read from it have their values by then.
 */
export function takeSecrets(environment: NodeJS.ProcessEnv): ServeSecrets {
  const given = (name: SecretVariable) => environment[name]?.trim() || null;
  const masterKeys = [given("BRIDLE_MASTER_KEY"), given("BRIDLE_MASTER_KEY_PREVIOUS")];
  const secrets = {
    masterKeys: masterKeys.filter((key) => key !== null),
    gatewayKey: given("BRIDLE_GATEWAY_KEY"),
    inEnvironment: secretVariables.filter((name) => given(name) !== null && !environment[`${name}_FILE`]),
  };
  for (const name of secretVariables) {
    delete environment[name];
    delete environment[`${name}_FILE`];
  }
  return secrets;
}

/** Without what URLs may have in them: a password before the host, a token behind the question mark. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/:\/\/\S*@/g, "://(hidden)@").replaceAll(/(:\/\/[^\s?]*\?)[^\s']+/g, "$1(hidden)");
}

/** Longer files hold something else. */
const secretCharsMax = 10_000;

/** Throws what is wrong, in words that do not repeat what is in the file. */
export function readSecretFiles(environment: NodeJS.ProcessEnv): void {
  for (const name of secretVariables) {
    const file = environment[`${name}_FILE`];
    if (file === undefined || file === "") continue;
    if (environment[name] !== undefined) {
      throw new Error(`${name} and ${name}_FILE are both set: keep one of them.`);
    }
    environment[name] = secretIn(file, `${name}_FILE`);
  }
}

function secretIn(file: string, variable: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new Error(`${variable}: the file ${file} cannot be read${code}.`);
  }
  if (text !== "" && text.length <= secretCharsMax) return text;
  throw new Error(`${variable}: the file ${file} is ${text === "" ? "empty" : "too long for a secret"}.`);
}
