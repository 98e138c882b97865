/** What approvers are shown of metadata, and what never. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shownMetadata } from "./metadata.ts";

test("HARP-66 removes routing fields in any case and at any depth, and nothing else", () => {
  // Given routing in any case and at any depth, when it is shown, then it is gone and everything else is there.
  const shown = shownMetadata(
    {
      routingToken: "rt-1",
      APPROVERID: "a",
      tenantid: "t",
      TenantHint: "h",
      repoName: "r",
      list: [{ routingTOKEN: "rt-2", kept: [1, { approverId: "a" }] }],
    },
    [],
  );
  assert.deepEqual(shown, { repoName: "r", list: [{ kept: [1, {}] }] });
});

test("HARP-67 shows labels and unknown names unchanged", () => {
  // Given labels and names that nobody knows, when they are shown, then they are as they were.
  const metadata = {
    workspaceName: "airlock",
    repoName: "harp-spec",
    enforcerLabel: "Antigravity",
    requestLabel: "Pre Tool Use",
    "x.vendor": { deep: [null, true, 1.5, "ü"] },
    routingTokens: "another name",
  };
  assert.deepEqual(shownMetadata(metadata, []), metadata);
});

test("HARP-67 never shows a name that is kept from approvers, for any metadata", () => {
  // Given any metadata, when the names of what is shown are gathered, then none is one that is kept from approvers.
  const name = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom("routingToken", "ROUTINGTOKEN", "approverId", "tenantID", "tenantHint", "secretName"),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 5 }), (metadata) => {
      const text = JSON.stringify(shownMetadata(metadata, ["secretname"]));
      assert.doesNotMatch(text, /"(routingtoken|approverid|tenantid|tenanthint|secretname)":/i);
    }),
  );
});

test("HARP-68 given no metadata, or none but routing, when it is shown, then there is none", () => {
  assert.equal(shownMetadata(undefined, []), null);
  assert.equal(shownMetadata({}, []), null);
  assert.equal(shownMetadata({ routingToken: "rt", tenantHint: "h" }, []), null);
  assert.equal(shownMetadata({ branch: "main" }, ["BRANCH"]), null);
});
