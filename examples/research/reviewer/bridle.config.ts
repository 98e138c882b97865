import { defineConfig } from "bridle";

/** Not the usual port, so that both servers can run on one machine; and gRPC, which the researcher does not speak, on none. */
export default defineConfig({ port: 8081, grpcPort: "off" });
