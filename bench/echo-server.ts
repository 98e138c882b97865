/** The yardstick: what this machine does for an HTTP request that reads JSON and answers with it. */

import { createServer } from "node:http";

const server = createServer((request, response) => {
  let text = "";
  request.on("data", (chunk) => {
    text += chunk;
  });
  request.on("end", () => {
    const body = JSON.stringify(JSON.parse(text));
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) console.log(`URL http://127.0.0.1:${address.port}`);
});
