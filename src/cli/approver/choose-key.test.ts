import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chooseKey, type KeyChoice } from "./choose-key.ts";

const here = "http://127.0.0.1:8080/harp";
const elsewhere = "https://gateway.example";

function chosen(choice: Partial<KeyChoice>): string {
  return chooseKey({ gateway: here, given: null, saved: null, ...choice });
}

describe("Which API key goes to a gateway", () => {
  test("prefers the key that was given, then the saved one, and has no other", () => {
    const saved = { key: "saved", gateway: here };
    assert.equal(chosen({ given: "given", saved }), "given");
    assert.equal(chosen({ saved }), "saved");
    assert.throws(() => chosen({}), /no API key for/);
  });

  test("does not send a key saved for one gateway to another", () => {
    const saved = { key: "saved", gateway: here };
    assert.throws(() => chosen({ gateway: elsewhere, saved }), /no API key/);
  });

  test("SEC-H4 rejects an administrator's key for any gateway, without repeating it", () => {
    const given = "bridle_admin_of_somewhere";
    for (const gateway of [here, elsewhere]) {
      assert.throws(
        () => chosen({ gateway, given }),
        (error: Error) => /administrator's key/.test(error.message) && !error.message.includes(given),
      );
    }
  });
});
