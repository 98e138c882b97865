import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ConsoleSessions, sessionMs } from "./sessions.ts";
import { SignInLinks } from "./sign-in-links.ts";

const credential = "bridle_key_of_somebody";
let place: string;
let file: string;
let time = 1000;
const now = () => time;
before(() => {
  place = mkdtempSync(join(tmpdir(), "bridle-test-"));
  file = join(place, "console-sessions.json");
});
after(() => rmSync(place, { recursive: true }));

test("CON-3 a session takes both of its secrets and outlives a restart, and its file opens nothing", () => {
  const sessions = new ConsoleSessions({ file, now });
  const secrets = sessions.begin(credential, "ann");
  const other = sessions.begin("another", "bob");
  const restarted = new ConsoleSessions({ file, now });
  for (const known of [sessions, restarted]) {
    assert.equal(known.credentialOf(secrets), credential);
    assert.equal(known.credentialOf({ ...secrets, page: other.page }), null);
    assert.equal(known.credentialOf({ ...secrets, cookie: other.cookie }), null);
    assert.equal(known.credentialOf({ cookie: "x", page: "x" }), null);
  }
  const kept = readFileSync(file, "utf8");
  for (const secret of [credential, secrets.cookie, secrets.page]) assert.ok(!kept.includes(secret));
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("CON-3 a session ends when somebody signs out, and after a week", () => {
  const sessions = new ConsoleSessions({ file, now });
  const [first, second] = [sessions.begin(credential, "ann"), sessions.begin(credential, "ann")];
  sessions.end(first.cookie);
  assert.equal(sessions.credentialOf(first), null);
  assert.equal(new ConsoleSessions({ file, now }).credentialOf(first), null);
  assert.equal(sessions.credentialOf(second), credential);
  time += sessionMs;
  assert.equal(sessions.credentialOf(second), null);
});

test("CON-3 sessions are bounded, and whoever has the most loses the oldest, nobody else", () => {
  const sessions = new ConsoleSessions({ file, now });
  const others = sessions.begin(credential, "others");
  const first = sessions.begin(credential, "many");
  for (let n = 0; n < 20; n++) sessions.begin(credential, "many");
  assert.equal(sessions.credentialOf(first), null);
  for (let n = 0; n < 600; n++) sessions.begin(credential, `key ${n % 40}`);
  assert.equal(sessions.credentialOf(others), credential);
  assert.equal(JSON.parse(readFileSync(file, "utf8")).length, 500);
});

test("CON-3 a damaged file costs no more than the sessions", () => {
  const first = new ConsoleSessions({ file, now }).begin(credential, "ann");
  for (const damage of [
    "{",
    "[1, null]",
    '{"a": 1}',
    '[{"id": "x", "page": "y", "sealed": "z", "until": 1}]',
  ]) {
    writeFileSync(file, damage);
    assert.equal(new ConsoleSessions({ file, now }).credentialOf(first), null);
  }
});

test("CON-2 a sign-in link works once, for ten minutes, and no other does", () => {
  const links = new SignInLinks(now);
  const [first, second] = [links.create(), links.create()];
  assert.deepEqual([links.redeem(first), links.redeem(first), links.redeem("guessed")], [true, false, false]);
  time += 10 * 60 * 1000;
  assert.equal(links.redeem(second), false);
  const old = links.create();
  for (let n = 0; n < 10; n++) links.create();
  assert.equal(links.redeem(old), false);
});
