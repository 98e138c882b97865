/**
 * Ask the URL of a polling connector for its items; each that was not seen is a delivery, once. What was seen is in the record: the
 * items of the last answer, and the id of the last one, which goes along as the cursor.
 */

import { OutboundFailed, OutboundRefused } from "../../policy/outbound.ts";
import type { JsonValue } from "../../store/port.ts";
import { sha256Hex } from "../core/content.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { hasTooManyValues, valuesMax } from "../core/json-values.ts";
import type { Kernel } from "../kernel.ts";
import type { ConnectorRecord, Polled, Polling } from "../kinds/connector.ts";
import { connectorCaller } from "./connector-caller.ts";
import { noteSuccess, recordFailure } from "./connector-health.ts";
import { deliver } from "./receive-delivery.ts";

const limits = { connectMs: 10_000, headersMs: 20_000, totalMs: 30_000, answerBytesMax: 1024 * 1024 };
/** Of one answer; the others come with a later one, if the other side has a cursor or shows them again. */
const itemsMax = 100;
const itemIdCharsMax = 200;
/** Enough of a hash to tell the items of one connector apart. */
const seenChars = 16;

/** False when it failed, which is in the log and in the record then. */
export async function pollConnector(
  kernel: Kernel,
  connector: ConnectorRecord,
  secret: string | null,
  signal: AbortSignal,
): Promise<boolean> {
  const { polling, polled = { cursor: null, seen: [] } } = connector;
  if (polling === undefined) return true;
  const place = { webhookId: "poll" };
  try {
    const items = itemsIn(await ask(kernel, { polling, polled, secret, signal }), polling);
    for (const { id, body } of items.filter((item) => !polled.seen.includes(item.seen))) {
      place.webhookId = `item:${id}`;
      await deliver(kernel, connector, deliveryOf(place.webhookId, body));
    }
    const cursor = items.at(-1)?.id ?? polled.cursor;
    const now = { cursor, seen: items.map(({ seen }) => seen) };
    const request = { connectorId: connector.id, polled: now };
    await runCommand(kernel, notePolled, connectorCaller(connector), request);
    return true;
  } catch (error) {
    if (signal.aborted) return true;
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    await recordFailure(kernel, connector, place.webhookId, refusal);
    return false;
  }
}

const notePolled: Command<{ connectorId: string; polled: Polled }, null> = {
  name: "note_polled",
  scope: "connectors:write",
  decide(unit, { connectorId, polled }) {
    const connector = unit.find("connector", connectorId);
    if (connector === undefined) return null;
    noteSuccess(unit, connector);
    // Most of the time there is nothing new.
    if (JSON.stringify(connector.polled) === JSON.stringify(polled)) return null;
    const now = unit.require("connector", connectorId);
    unit.emit(now, "vendor.bridle.connector.updated", { changes: { polled } });
    return null;
  },
};

interface Asking {
  polling: Polling;
  polled: Polled;
  secret: string | null;
  signal: AbortSignal;
}

async function ask({ outbound }: Kernel, { polling, polled, secret, signal }: Asking): Promise<JsonValue> {
  const url = new URL(polling.url);
  if (polling.cursor_param !== undefined && polled.cursor !== null)
    url.searchParams.set(polling.cursor_param, polled.cursor);
  const authorization = secret === null ? {} : { authorization: `Bearer ${secret}` };
  const headers = { accept: "application/json", "user-agent": "bridle", ...authorization };
  const answer = await outbound.request(url, { headers, signal, ...limits });
  if (answer.status < 200 || answer.status > 299) {
    answer.discard();
    throw failed(`The answer was ${answer.status}.`);
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  if (hasTooManyValues(bytes))
    throw failed(`The answer has more than ${valuesMax} values. Have the URL answer with fewer items.`);
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw failed("The answer is not JSON.");
  }
}

interface Item {
  id: string;
  seen: string;
  body: JsonValue;
}

function itemsIn(answer: JsonValue, { items_path, id_path }: Polling): Item[] {
  const items = memberAt(answer, items_path);
  if (!Array.isArray(items)) {
    const where = items_path === "" ? "The answer" : `${JSON.stringify(items_path)} of the answer`;
    throw failed(`${where} is not a list.`);
  }
  return items.slice(0, itemsMax).map((body, index) => {
    const id = memberAt(body, id_path);
    if ((typeof id !== "string" && typeof id !== "number") || String(id).length > itemIdCharsMax)
      throw failed(`Item ${index + 1} has no id at ${JSON.stringify(id_path)}.`);
    return { id: String(id), seen: sha256Hex(String(id)).slice(0, seenChars), body };
  });
}

function memberAt(value: JsonValue, path: string): JsonValue {
  let found = value;
  for (const name of path === "" ? [] : path.split(".")) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return null;
    found = Object.hasOwn(found, name) ? (found[name] ?? null) : null;
  }
  return found;
}

function deliveryOf(webhookId: string, body: JsonValue) {
  const type = memberAt(body, "type");
  const kind = typeof type === "string" ? type : null;
  return { webhookId, text: JSON.stringify(body), body, kind, trace: null };
}

function failed(message: string): HarnessError {
  return new HarnessError("upstream_unavailable", message);
}

/** What the other side or a policy is the reason of; a fault of ours is tried again and said nowhere. */
function refusalOf(error: unknown): Pick<HarnessError, "code" | "message"> | null {
  if (error instanceof OutboundFailed || error instanceof OutboundRefused)
    return { code: "upstream_unavailable", message: error.message };
  return error instanceof HarnessError && error.code !== "service_unavailable" ? error : null;
}
