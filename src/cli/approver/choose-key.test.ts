import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { chooseKey, type KeyChoice } from "./choose-key.ts";

const data = mkdtempSync(join(tmpdir(), "bridle-test-"));
writeFileSync(join(data, "admin.key"), "bridle_admin_of_this_machine\n");
after(() => rmSync(data, { recursive: true }));

const here = "http://127.0.0.1:8080/harp";
const elsewhere = "https://gateway.example";

function chosen(choice: Partial<KeyChoice>): string {
  return chooseKey({ gateway: here, given: null, saved: null, data, environment: {}, ...choice }).key;
}

describe("Which API key goes to a gateway", () => {
  test("prefers the key by flag, then the saved one, then the administrator's", () => {
    // Given a key by flag, a saved one and an administrator's, when there is a choice, then they are taken in this
    // order.
    const saved = { key: "saved", gateway: here };
    const given = { key: "given", by: "flag" as const };
    assert.equal(chosen({ given, saved }), "given");
    assert.equal(chosen({ saved }), "saved");
    assert.equal(chosen({}), "bridle_admin_of_this_machine");
    assert.equal(chosen({ environment: { BRIDLE_API_KEY: "fixed" } }), "fixed");
    assert.equal(chosen({ gateway: elsewhere, given: { key: "mine", by: "environment" } }), "mine");
  });

  test("sends no administrator's key to a gateway that is not this machine's server", () => {
    // Given a gateway that is not the server of this machine, when nothing was given for it, then no administrator's key
    // is sent.
    const environment = { BRIDLE_API_KEY: "fixed" };
    for (const gateway of [
      elsewhere,
      "http://127.0.0.1:8081/harp",
      "https://127.0.0.1:8080/harp",
      "http://127.0.0.1.example:8080/harp",
      "http://127.0.0.1:8080@gateway.example/",
    ]) {
      assert.throws(() => chosen({ gateway, environment }), /no API key for/, gateway);
    }
    const remote = { BRIDLE_URL: elsewhere, ...environment };
    assert.throws(
      () => chosen({ gateway: elsewhere, environment: remote }),
      /no API key/,
      "not even by its name",
    );
    assert.throws(() => chosen({ gateway: here, environment: remote }), /no API key/);
    const moved = { BRIDLE_URL: "http://localhost:9", ...environment };
    assert.equal(chosen({ gateway: "http://localhost:9/harp", environment: moved }), "fixed");
  });

  test("does not send a key saved for one gateway to another", () => {
    // Given a key that was saved for one gateway, when another is asked, then it is not sent there.
    const saved = { key: "saved", gateway: here };
    assert.throws(() => chosen({ gateway: elsewhere, saved }), /no API key/);
  });

  test("rejects an administrator's key from the environment for another gateway, unrepeated", () => {
    // Given an administrator's key in the environment, when the gateway is another, then it is refused without being
    // repeated.
    const given = { key: "bridle_admin_of_somewhere", by: "environment" as const };
    assert.throws(
      () => chosen({ gateway: elsewhere, given }),
      (error: Error) => /administrator's key/.test(error.message) && !error.message.includes(given.key),
    );
    assert.equal(chosen({ gateway: here, given }), given.key);
    assert.equal(chosen({ gateway: elsewhere, given: { ...given, by: "flag" } }), given.key);
  });

  test("only a key that was given for the gateway may be saved", () => {
    // Given where a key came from, when it is chosen, then only what was given for the gateway may be kept.
    const base: KeyChoice = { gateway: here, given: null, saved: null, data, environment: {} };
    assert.equal(chooseKey(base).isOurs, false);
    assert.equal(chooseKey({ ...base, given: { key: "k", by: "flag" } }).isOurs, true);
  });
});
