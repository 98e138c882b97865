import { defineConfig } from "bridle";

export default defineConfig({ port: 8081 });
