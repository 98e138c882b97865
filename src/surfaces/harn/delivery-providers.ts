/**
 * Deliveries as each provider sends them: whether the signature is the secret's, what the delivery is known again by, what it is
 * about, and what is the same in all of its kind. What is not signed decides nothing.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { sha256Hex } from "../../kernel/core/content.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { ConnectorProvider } from "../../kernel/kinds/connector.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { parseJson } from "../json-body.ts";

export interface ReadDelivery {
  /** The same whenever it is sent again. */
  id: string;
  kind: string | null;
  body: JsonValue;
  normalized?: JsonObject;
  isIgnored?: boolean;
  /** The provider only wants to know whether somebody is there, and this in return. */
  challenge?: JsonObject;
}

interface Provider {
  isSigned(text: string, request: FastifyRequest, secret: string): boolean;
  /** Of a genuine delivery, before its body is read. */
  idOf(text: string, request: FastifyRequest): string;
  read(text: string, request: FastifyRequest): Omit<ReadDelivery, "id"> & { id?: string };
}

/** Older or younger than this is refused, where the signature has a time. */
const toleranceSeconds = 5 * 60;
const idCharsMax = 255;

const webhook: Provider = {
  isSigned(text, request, secret) {
    const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const headers = Object.fromEntries(names.map((name) => [name, headerOf(request, name)]));
    try {
      new Webhook(secret).verify(text, headers, { jsonParse: false });
      return true;
    } catch (error) {
      if (error instanceof WebhookVerificationError) return false;
      throw error;
    }
  },
  idOf: (_, request) => headerOf(request, "webhook-id"),
  read(text, request) {
    if (headerOf(request, "webhook-id").length > idCharsMax) {
      throw new HarnessError("invalid_request", `A webhook-id has 1 to ${idCharsMax} characters.`, {
        param: "webhook-id",
      });
    }
    const body = parseJson(text);
    return { kind: textIn(body, "type"), body };
  },
};

const github: Provider = {
  isSigned: (text, request, secret) =>
    isSame(headerOf(request, "x-hub-signature-256"), `sha256=${hmacHex(secret, text)}`),
  // The header with GitHub's own id is not signed: whoever saw a delivery could send it again under another one.
  idOf: (text) => `github:${sha256Hex(text)}`,
  read(text, request) {
    const kind = headerOf(request, "x-github-event").slice(0, idCharsMax) || null;
    const body = parseJson(text);
    const normalized = kind === null ? undefined : normalizedGithub(kind, body);
    return { kind, body, ...(normalized === undefined ? {} : { normalized }), isIgnored: kind === "ping" };
  },
};

const slack: Provider = {
  isSigned(text, request, secret) {
    const at = headerOf(request, "x-slack-request-timestamp");
    const isNow = /^\d{1,12}$/.test(at) && Math.abs(Date.now() / 1000 - Number(at)) <= toleranceSeconds;
    const expected = `v0=${hmacHex(secret, `v0:${at}:${text}`)}`;
    return isSame(headerOf(request, "x-slack-signature"), expected) && isNow;
  },
  idOf: (text) => `slack:${sha256Hex(text)}`,
  read(text, request) {
    if (headerOf(request, "content-type").startsWith("application/x-www-form-urlencoded"))
      return slashCommand(Object.fromEntries(new URLSearchParams(text)));
    return slackEvent(parseJson(text));
  },
};

const providers: Record<Exclude<ConnectorProvider, "polling">, Provider> = { webhook, github, slack };

/** Nothing is sent to a connector that asks by itself. */
export function providerOf(name: ConnectorProvider | undefined): Provider {
  return name === undefined || name === "polling" ? webhook : providers[name];
}

function slackEvent(body: JsonValue): Omit<ReadDelivery, "id"> & { id?: string } {
  const type = textIn(body, "type");
  if (type === "url_verification")
    return { kind: type, body, challenge: { challenge: textIn(body, "challenge") ?? "" } };
  const event = memberIn(body, "event");
  const id = textIn(body, "event_id");
  const kind = textIn(event, "type") ?? type;
  return {
    ...(id === null ? {} : { id: `slack:${id.slice(0, idCharsMax)}` }),
    kind,
    body,
    normalized: {
      kind,
      user: textIn(event, "user"),
      channel: textIn(event, "channel"),
      text: textIn(event, "text"),
      thread: textIn(event, "thread_ts"),
      team: textIn(body, "team_id"),
    },
    // What a bot says, this one too, is no request of a person.
    isIgnored: textIn(event, "bot_id") !== null,
  };
}

function slashCommand(form: Record<string, string>): Omit<ReadDelivery, "id"> & { id?: string } {
  const { trigger_id: id, token: _, response_url: __, ...body } = form;
  const { command = null, text = null, user_id: user = null, channel_id: channel = null } = form;
  const { team_id: team = null } = form;
  const kind = "slash_command";
  return {
    ...(id === undefined ? {} : { id: `slack:${id.slice(0, idCharsMax)}` }),
    kind,
    body,
    normalized: { kind, command, text, user, channel, team },
  };
}

/** What people ask of the four kinds that most agents are for; others have their body alone. */
function normalizedGithub(kind: string, body: JsonValue): JsonObject | undefined {
  const common = {
    kind,
    action: textIn(body, "action"),
    repository: textIn(memberIn(body, "repository"), "full_name"),
    sender: textIn(memberIn(body, "sender"), "login"),
  };
  const subjectOf = (subject: JsonValue) => ({
    number: memberIn(subject, "number"),
    title: textIn(subject, "title"),
    url: textIn(subject, "html_url"),
  });
  switch (kind) {
    case "push": {
      const commits = memberIn(body, "commits");
      return {
        ...common,
        ref: textIn(body, "ref"),
        before: textIn(body, "before"),
        after: textIn(body, "after"),
        commits: (Array.isArray(commits) ? commits : []).map((commit) => ({
          id: textIn(commit, "id"),
          message: textIn(commit, "message"),
          url: textIn(commit, "url"),
        })),
      };
    }
    case "issues": {
      const issue = memberIn(body, "issue");
      return { ...common, ...subjectOf(issue), text: textIn(issue, "body") };
    }
    case "pull_request": {
      const pull = memberIn(body, "pull_request");
      const head = textIn(memberIn(pull, "head"), "sha");
      return { ...common, ...subjectOf(pull), text: textIn(pull, "body"), head };
    }
    case "issue_comment": {
      const text = textIn(memberIn(body, "comment"), "body");
      return { ...common, ...subjectOf(memberIn(body, "issue")), text };
    }
    default:
      return undefined;
  }
}

function memberIn(value: JsonValue, name: string): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function textIn(value: JsonValue, name: string): string | null {
  const member = memberIn(value, name);
  return typeof member === "string" ? member : null;
}

function hmacHex(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function headerOf(request: FastifyRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : "";
}
