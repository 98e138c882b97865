/** The settings of the gateway, the same for `bridle serve`, which has one, and `bridle gateway`, which is one. */

import { Option } from "commander";
import { type GatewaySettings, gatewayDefaults } from "../../harp/gateway/settings.ts";
import { listOf, notEmpty, wholeNumber } from "./option-parsers.ts";

export interface HarpSettings {
  harpRetainDays: number;
  harpLifetimeHours: number;
  harpCallsPerMinute: number;
  harpPairingsPerMinute: number;
  harpPingMs: number;
  harpIdleMs: number;
  harpPresenceMs: number;
  harpStripMetadata: string[];
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

export const harpOptions: readonly Option[] = [
  new Option("--harp-retain-days <number>", "days that the gateway keeps an exchange after it is over")
    .env("BRIDLE_HARP_RETAIN_DAYS")
    .default(gatewayDefaults.retainMs / dayMs)
    .argParser(wholeNumber(0, 36_500)),
  new Option("--harp-lifetime-hours <number>", "hours that an artifact may be pending at the gateway at most")
    .env("BRIDLE_HARP_LIFETIME_HOURS")
    .default(gatewayDefaults.lifetimeMsMax / hourMs)
    .argParser(wholeNumber(1, 8760)),
  new Option(
    "--harp-calls-per-minute <number>",
    "calls a minute of one enforcer or approver before it must wait",
  )
    .env("BRIDLE_HARP_CALLS_PER_MINUTE")
    .default(gatewayDefaults.callsPerMinute)
    .argParser(wholeNumber(1, 10_000_000)),
  new Option(
    "--harp-pairings-per-minute <number>",
    "pairing codes a minute that one approver may try, and one enforcer may ask for",
  )
    .env("BRIDLE_HARP_PAIRINGS_PER_MINUTE")
    .default(gatewayDefaults.pairingsPerMinute)
    .argParser(wholeNumber(1, 100_000)),
  new Option("--harp-ping-ms <number>", "how often streams and WebSockets of the gateway get a sign of life")
    .env("BRIDLE_HARP_PING_MS")
    .default(gatewayDefaults.pingMs)
    .argParser(wholeNumber(10, 600_000)),
  new Option("--harp-idle-ms <number>", "after how long without one from the other side a WebSocket is ended")
    .env("BRIDLE_HARP_IDLE_MS")
    .default(gatewayDefaults.idleMs)
    .argParser(wholeNumber(10, 3_600_000)),
  new Option("--harp-presence-ms <number>", "how long an enforcer counts as online after it was heard of")
    .env("BRIDLE_HARP_PRESENCE_MS")
    .default(gatewayDefaults.presenceMs)
    .argParser(wholeNumber(10, 86_400_000)),
  new Option("--harp-strip-metadata <name...>", "additional metadata keys to hide from approvers")
    .env("BRIDLE_HARP_STRIP_METADATA")
    .default([], "none")
    .argParser(listOf(notEmpty)),
];

export function gatewaySettingsOf(settings: HarpSettings): GatewaySettings {
  return {
    ...gatewayDefaults,
    retainMs: settings.harpRetainDays * dayMs,
    lifetimeMsMax: settings.harpLifetimeHours * hourMs,
    callsPerMinute: settings.harpCallsPerMinute,
    pairingsPerMinute: settings.harpPairingsPerMinute,
    pingMs: settings.harpPingMs,
    idleMs: settings.harpIdleMs,
    presenceMs: settings.harpPresenceMs,
    strippedMetadata: settings.harpStripMetadata,
  };
}
