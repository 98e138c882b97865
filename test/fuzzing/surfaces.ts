/** One request to one of the surfaces: a valid one of an operation picked at random, or one that was changed. */

import type { Client, Json } from "../support/client.ts";
import { requestFor } from "../support/opvs-requests.ts";
import { changed, exampleOf, odds, pick, type Random } from "./grammar.ts";

export interface Shot {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

interface Operation {
  method: string;
  path: string;
  operation: Json;
}

/** They would lock out whoever sends them, or end the server for all others. */
const fatal = /AdminKey|eraseTenant|rotateSigningKey/i;
const changedShare = 0.6;
const opvsOperations = ["SendMessage", "GetTask", "ListTasks", "CancelTask", "GetExtendedAgentCard"] as const;

export class Surfaces {
  readonly #random: Random;
  readonly #operations: Operation[];
  readonly #schemas: Json;
  /** Ids that answers have named: later requests are about what earlier ones made. */
  readonly #known: string[] = ["workspace_default", "tenant_default", "persona_rehearsal", "persona_echo"];

  constructor(document: Json, random: Random) {
    this.#random = random;
    this.#schemas = document;
    this.#operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
      Object.entries<Json>(methods)
        .filter(([, { operationId }]) => operationId !== undefined && !fatal.test(operationId))
        .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
  }

  learn(text: string): void {
    for (const [id] of text.matchAll(/\b[a-z_]{2,20}_[0-9A-HJKMNP-TV-Z]{26}\b/g)) {
      if (this.#known.length > 200) this.#known.splice(4, 50);
      if (!this.#known.includes(id)) this.#known.push(id);
    }
  }

  next(): Shot {
    const which = this.#random();
    if (which < 0.7) return this.#harn();
    if (which < 0.8) return this.#opvs();
    if (which < 0.9) return this.#mcp();
    return this.#openHarness();
  }

  #body(value: Json): string {
    const random = this.#random;
    const sent = random() < changedShare ? changed(value, random) : value;
    const text = JSON.stringify(sent) ?? "";
    // Sometimes no JSON at all.
    return random() < 0.03 ? text.slice(0, Math.floor(random() * text.length)) : text;
  }

  #harn(): Shot {
    const random = this.#random;
    const { method, path, operation } = pick(random, this.#operations) ?? {
      method: "GET",
      path: "/",
      operation: {},
    };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(this.#idFor(name)));
    const query = new URLSearchParams();
    for (const { in: where, name, schema } of operation.parameters ?? []) {
      if (where !== "query" || random() < 0.5) continue;
      const value = random() < 0.3 ? odds(random) : exampleOf(this.#resolved(schema), random, this.#known);
      query.append(name, typeof value === "string" ? value.toWellFormed() : String(JSON.stringify(value)));
    }
    const schema = operation.requestBody?.content?.["application/json"]?.schema;
    const body =
      schema === undefined ? undefined : this.#body(exampleOf(this.#resolved(schema), random, this.#known));
    const headers: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    if (random() < 0.1) headers["idempotency-key"] = `key-${Math.floor(random() * 20)}`;
    const search = query.size === 0 ? "" : `?${query}`;
    return { method, path: filled + search, headers, body };
  }

  #idFor(name: string): string {
    const random = this.#random;
    const kind = name.replace(/_id$/, "");
    const fitting = this.#known.filter((id) => id.startsWith(kind));
    if (random() < 0.1) return odds(random).toWellFormed() || "x";
    return pick(random, fitting) ?? pick(random, this.#known) ?? "x";
  }

  /** References are followed a few levels deep; what goes on further is anything. */
  #resolved(schema: Json, depth = 0): Json {
    if (depth > 6 || typeof schema !== "object" || schema === null) return schema;
    if (typeof schema.$ref === "string") {
      const place = schema.$ref.slice(2).split("/");
      return this.#resolved(
        place.reduce((value: Json, name: string) => value?.[name], this.#schemas),
        depth + 1,
      );
    }
    if (Array.isArray(schema)) return schema.map((one) => this.#resolved(one, depth + 1));
    return Object.fromEntries(
      Object.entries(schema).map(([name, value]) => [name, this.#resolved(value, depth + 1)]),
    );
  }

  #opvs(): Shot {
    const random = this.#random;
    const operation = pick(random, opvsOperations) ?? "GetTask";
    const params = requestFor(operation, this.#idFor("task"));
    const call = { jsonrpc: "2.0", id: 1, method: operation, params };
    const headers = {
      "content-type": "application/json",
      "a2a-version": random() < 0.9 ? "1.0" : odds(random).replaceAll(/[^ -~]/g, ""),
    };
    return { method: "POST", path: "/opvs/rpc", headers, body: this.#body(call) };
  }

  #mcp(): Shot {
    const random = this.#random;
    const method = pick(random, ["tools/list", "tools/call", "initialize", "ping"]);
    const call = { jsonrpc: "2.0", id: 1, method, params: { name: "echo", arguments: { text: "hello" } } };
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-11-25",
    };
    return { method: "POST", path: "/mcp", headers, body: this.#body(call) };
  }

  #openHarness(): Shot {
    const context = { user_intent: "hello", task_hint: { sop_id: "echo" }, session_id: "s" };
    const made = {
      protocol_version: "1.0.0",
      request_id: `req-${Math.floor(this.#random() * 50)}`,
      request: { context },
    };
    const headers = { "content-type": "application/json" };
    return { method: "POST", path: "/openharness/v1", headers, body: this.#body(made) };
  }
}

/** The answer, read for as long as a moment: streams go on. */
export async function fire(
  client: Client,
  { method, path, headers, body }: Shot,
): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(answerMsMax);
  const stream = new AbortController();
  const response = await fetch(client.url + path, {
    ...{ method, headers: client.headers(headers), signal: AbortSignal.any([signal, stream.signal]) },
    ...(body === undefined ? {} : { body }),
  });
  const isStream = /event-stream/.test(response.headers.get("content-type") ?? "");
  if (isStream) {
    stream.abort();
    return { status: response.status, text: "" };
  }
  return { status: response.status, text: await response.text() };
}

/** A request that takes longer hangs. Waits that a client asks for are shorter. */
const answerMsMax = 40_000;
