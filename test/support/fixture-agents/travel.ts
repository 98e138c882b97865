/**
 * The agents of `travel-agents.ts`, as a module that a server loads.
 *
 *   AGENT_CHANGE   which change was made to the code; none otherwise
 *   AGENT_NOTES    a file that gets a line whenever code of a step really runs
 */

import { travelAgents } from "../travel-agents.ts";

const { AGENT_CHANGE = "", AGENT_NOTES = "" } = process.env;

export const { travel, packer } = travelAgents(AGENT_CHANGE, AGENT_NOTES);

export default packer;
