/** The version of the Harn Agents Protocol that resources, events and receipts follow. */

export const protocolVersion = "agents-protocol-2026-04-25";
