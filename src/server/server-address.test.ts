import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { addressIn, keepAddress } from "./server-address.ts";

const directory = mkdtempSync(join(tmpdir(), "bridle-test-"));
after(() => rmSync(directory, { recursive: true }));
const file = join(directory, "server.json");

test("CLI-9 ignores an address file with a remote host, a foreign process or invalid content", () => {
  // Given a file that names another machine, a stranger's process or nothing that makes sense, when the address is asked
  // for, then there is none, so that no key is sent there.
  const { pid } = process;
  const here = "http://127.0.0.1:8080";
  for (const content of [
    ...["https://example.com", "http://192.0.2.1:8080", "http://127.0.0.1.example.com", "file:///etc/passwd"],
    ...["http://user:password@127.0.0.1:8080", "http://[2001:db8::1]:8080", "127.0.0.1", "", 5],
  ].map((url) => JSON.stringify({ url, pid }))) {
    writeFileSync(file, content);
    assert.equal(addressIn(directory), null, content);
  }
  const odd = [0, -1, 1.5, "1", null].map((other) => JSON.stringify({ url: here, pid: other }));
  for (const content of [...odd, "", "null", "[]", "{"]) {
    writeFileSync(file, content);
    assert.equal(addressIn(directory), null, content);
  }
  rmSync(file);
});

test("CLI-9 a local server's saved address is found, private to its owner and removable", () => {
  // Given a server that listens on this machine, when its address is kept, then it is found, nobody else may read it,
  // and it can be taken back.
  for (const [url, found] of [
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080"],
    ["https://[::1]:8443", "https://[::1]:8443"],
    ["http://0.0.0.0:8080", "http://127.0.0.1:8080"],
  ] as const) {
    const takeBack = keepAddress(directory, url);
    assert.equal(addressIn(directory), found);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    takeBack();
    assert.equal(addressIn(directory), null);
  }
});
