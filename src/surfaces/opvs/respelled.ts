/**
 * Names that the protocol's own text has for the same thing: its sections on push notifications say `pushNotificationConfig` and
 * `authentication.schemes` where its definition says `taskPushNotificationConfig` and `authentication.scheme`. Both are taken.
 */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { InvalidParams } from "./errors.ts";
import type { OperationName } from "./operations.ts";

const configNames = ["taskPushNotificationConfig", "task_push_notification_config"] as const;
const otherNames = ["pushNotificationConfig", "push_notification_config"] as const;

export function respelled(name: OperationName, json: JsonValue): JsonValue {
  if (!isObject(json)) return json;
  if (name === "CreateTaskPushNotificationConfig") return withScheme(json, "authentication");
  if (name !== "SendMessage" && name !== "SendStreamingMessage") return json;
  const { configuration } = json;
  return isObject(configuration) ? { ...json, configuration: withConfig(configuration) } : json;
}

function withConfig(configuration: JsonObject): JsonObject {
  const given = [...configNames, ...otherNames].filter((name) => configuration[name] != null);
  const [name, ...more] = given;
  if (name === undefined) return configuration;
  if (more.length > 0) {
    const description = `is given more than once, as ${given.join(" and ")}`;
    throw new InvalidParams([{ field: `configuration.${configNames[0]}`, description }]);
  }
  const { [name]: config, ...others } = configuration;
  const path = `configuration.${name}.authentication`;
  return { ...others, [configNames[0]]: isObject(config) ? withScheme(config, path) : (config ?? null) };
}

/** The first of several schemes is the one that is used; credentials are for one. */
function withScheme(config: JsonObject, path: string): JsonObject {
  const { authentication } = config;
  if (!isObject(authentication) || !("schemes" in authentication)) return config;
  const { schemes, ...others } = authentication;
  const [scheme] = Array.isArray(schemes) ? schemes : [];
  if (typeof scheme !== "string" || scheme === "" || others.scheme !== undefined) {
    throw new InvalidParams([
      { field: `${path}.schemes`, description: "is a list that begins with a scheme, instead of scheme" },
    ]);
  }
  return { ...config, authentication: { ...others, scheme } };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
