import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { readSecretFiles, secretVariables, takeSecrets } from "./secret-files.ts";

const directory = mkdtempSync(join(tmpdir(), "bridle-test-"));
after(() => rmSync(directory, { recursive: true }));

function fileWith(name: string, content: string): string {
  const file = join(directory, name);
  writeFileSync(file, content, { mode: 0o600 });
  return file;
}

describe("Secrets from files", () => {
  test("CMD-52 a _FILE variable gives the trimmed content of its file as the secret", () => {
    // Given a variable that names a file, when secrets are read, then the file's content counts, without what is around
    // it.
    for (const name of secretVariables) {
      const environment: NodeJS.ProcessEnv = { [`${name}_FILE`]: fileWith("secret", "  s3cret-of-file\n") };
      readSecretFiles(environment);
      assert.equal(environment[name], "s3cret-of-file", name);
    }
    const without: NodeJS.ProcessEnv = { BRIDLE_API_KEY: "given", BRIDLE_KEY_FILE: "" };
    readSecretFiles(without);
    assert.deepEqual(without, { BRIDLE_API_KEY: "given", BRIDLE_KEY_FILE: "" });
  });

  test("CMD-52 rejects a doubly set secret and a missing, empty or long file, leaking nothing", () => {
    // Given both a variable and its file, a file that is not there, empty or too long, when secrets are read, then they
    // are refused without a word of what is in them.
    const wrong: [NodeJS.ProcessEnv, RegExp][] = [
      [
        { BRIDLE_API_KEY: "s3cret-given", BRIDLE_API_KEY_FILE: fileWith("key", "s3cret-of-file") },
        /^BRIDLE_API_KEY and BRIDLE_API_KEY_FILE are both set/,
      ],
      [{ BRIDLE_MASTER_KEY_FILE: join(directory, "none") }, /BRIDLE_MASTER_KEY_FILE: .*none.*ENOENT/],
      [{ BRIDLE_MASTER_KEY_FILE: directory }, /cannot be read.*EISDIR/],
      [{ BRIDLE_GATEWAY_KEY_FILE: fileWith("empty", " \n") }, /BRIDLE_GATEWAY_KEY_FILE: .*is empty/],
      [{ BRIDLE_KEY_FILE: fileWith("long", "s3cret".repeat(10_000)) }, /too long for a secret/],
    ];
    for (const [environment, says] of wrong) {
      assert.throws(
        () => readSecretFiles(environment),
        (error: Error) => says.test(error.message) && !error.message.includes("s3cret"),
      );
    }
  });

  test("CMD-53 taking secrets removes them from the environment, by value or by file", () => {
    // Given secrets in the environment, by value or by file, when they are taken, then nothing of them is left there.
    const environment: NodeJS.ProcessEnv = { PATH: "/bin", BRIDLE_PORT: "0" };
    for (const name of secretVariables) environment[`${name}_FILE`] = fileWith(name, `s3cret of ${name}`);
    readSecretFiles(environment);
    assert.deepEqual(takeSecrets(environment), {
      masterKeys: ["s3cret of BRIDLE_MASTER_KEY", "s3cret of BRIDLE_MASTER_KEY_PREVIOUS"],
      gatewayKey: "s3cret of BRIDLE_GATEWAY_KEY",
      inEnvironment: [],
    });
    assert.deepEqual(environment, { PATH: "/bin", BRIDLE_PORT: "0" });
    assert.deepEqual(takeSecrets(environment), { masterKeys: [], gatewayKey: null, inEnvironment: [] });
  });
});
