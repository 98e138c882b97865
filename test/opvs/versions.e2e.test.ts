/** Service parameters: which version is spoken, which extensions are active, and under which names both are sent. */

import assert from "node:assert/strict";
import { everyBinding, message } from "./wire.ts";

const cursor = "urn:bridle:durable-cursor:1";
const delegation = "urn:bridle:delegation:1";

everyBinding("service parameters", (onEveryBinding) => {
  onEveryBinding("OPVS-67 OPVS-69 unknown versions are refused and those spoken are named", async (wire) => {
    // Given versions that are none or that nobody speaks, when they are asked for, then they are refused and those that
    // are spoken are named.
    for (const version of ["2.0", "1.1", "0.2", "1", "1.", ".0", "v1.0", "1.0.0.0", "1.0-beta", "one"]) {
      const { error } = await wire.call("ListTasks", {}, { headers: { "a2a-version": version } });
      assert.equal(error?.reason, "VERSION_NOT_SUPPORTED", version);
      assert.match(error?.details[0].metadata.supportedVersions, /^\d+\.\d+(,\d+\.\d+)*$/);
    }
  });

  onEveryBinding("OPVS-71 the patch number of a version makes no difference", async (wire) => {
    // Given a version with a patch number, when it is asked for, then the number makes no difference.
    for (const version of ["1.0", "1.0.0", "1.0.99"]) {
      const { result } = await wire.call("ListTasks", {}, { headers: { "a2a-version": version } });
      assert(Array.isArray(result.tasks), version);
    }
  });

  onEveryBinding("OPVS-73 either spelling of a parameter counts, two that disagree do not", async (wire) => {
    // Given either spelling of a parameter in any case, when it is sent, then it is understood; two that disagree are
    // refused.
    const spoken = async (headers: Record<string, string>) =>
      await wire.call("ListTasks", {}, { headers: { "a2a-version": undefined, ...headers } });
    for (const name of ["A2A-Version", "a2a-VERSION", "OPVS-Version", "opvs-version"]) {
      assert.equal((await spoken({ [name]: "1.0" })).error, undefined, name);
      assert.equal((await spoken({ [name]: "7.0" })).error?.reason, "VERSION_NOT_SUPPORTED", name);
    }
    assert.equal((await spoken({ "opvs-version": "1.0", "A2A-Version": "1.0" })).error, undefined);
    const { error } = await spoken({ "opvs-version": "1.0", "A2A-Version": "0.3" });
    assert.equal(error?.status, "INVALID_ARGUMENT");
    assert.match(error?.details[0].fieldViolations[0].field, /OPVS-Version/);
  });

  onEveryBinding("OPVS-73 extensions under either spelling are active and named", async (wire) => {
    // Given extensions asked for under either spelling, when the agent has them, then those and no others are active
    // and named in the answer.
    const { result } = await wire.call("SendMessage", { message: message("hello") });
    for (const spelling of ["a2a-extensions", "opvs-extensions"]) {
      const asked = { [spelling]: `urn:unknown:1,${cursor} , ${cursor}` };
      const answer = await wire.call("GetTask", { id: result.task.id }, { headers: asked });
      assert.equal(typeof answer.result.metadata[cursor].eventId, "string");
      for (const name of ["a2a-extensions", "opvs-extensions"]) {
        assert.equal(answer.headers.get(name), cursor);
      }
    }
    const both = { "a2a-extensions": cursor, "opvs-extensions": delegation };
    const answer = await wire.call("GetTask", { id: result.task.id }, { headers: both });
    assert.deepEqual(Object.keys(answer.result.metadata).sort(), [cursor, delegation].sort());
    const unasked = await wire.call("GetTask", { id: result.task.id });
    assert.equal(unasked.result.metadata, undefined);
    assert.equal(unasked.headers.get("a2a-extensions"), null);
  });
});
