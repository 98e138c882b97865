import { defineConfig } from "bridle";

/** Settings of the server, models, tools and personas go here; the compiler knows them all. Agents are found in agents/. */
export default defineConfig({});
