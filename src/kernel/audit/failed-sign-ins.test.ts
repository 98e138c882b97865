import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { FailedSignIns } from "./failed-sign-ins.ts";
import type { AuditFacts } from "./record.ts";

test("AUD-9 guesses from many addresses are few records a minute, and all are counted", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const written: AuditFacts[] = [];
    const failed = new FailedSignIns(async (_tenantId, facts) => void written.push(facts));
    const note = (from: string) =>
      failed.note({ from, reason: "unknown_key", tenantId: "tenant_default", keyId: null });
    for (let n = 0; n < 5000; n++) note(`10.0.${n % 100}.1`);
    await failed.close();
    assert.equal(written.length, 1 + 20 + 1, "the first at once; then twenty groups and the rest");
    assert.equal(sumOf(written), 5000);
    assert.equal(written.filter(({ by }) => by?.address === undefined).length, 1);

    written.length = 0;
    for (let n = 0; n < 10; n++) note(`2001:db8::${n}`);
    await Promise.resolve();
    assert.equal(written.length, 0, "not before the minute is over");
    mock.timers.tick(60_000);
    await failed.close();
    assert.deepEqual(
      written.map(({ by, details }) => [by?.address, details?.failures]),
      [["2001:db8:0:0::/64", 10]],
    );
  } finally {
    mock.timers.reset();
  }
});

function sumOf(written: readonly AuditFacts[]): number {
  return written.reduce((sum, { details }) => sum + Number(details?.failures), 0);
}
