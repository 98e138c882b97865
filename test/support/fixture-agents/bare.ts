/** Exports nothing that is an agent. */

export const name = "bare";
export const agents: object[] = [{ name: "almost", version: "1.0.0" }];
