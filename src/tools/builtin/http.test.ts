/** The tools that ask the web, against real servers. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { toolContext } from "../../../test/support/tool-samples.ts";
import { createOutbound, OutboundRefused } from "../../policy/outbound.ts";
import { runTool } from "../attempt.ts";
import { httpGet, httpPost } from "./http.ts";

async function listen(answer: RequestListener) {
  const requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers, body });
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const get = (input: object, context = toolContext()) => runTool(httpGet, input, context);
const post = (input: object, context = toolContext()) => runTool(httpPost, input, context);

test("TOL-4 fetch returns texts as they are, pages as readable text and only the size of others", async () => {
  // Given texts, pages and other content, when they are fetched, then texts are given, pages as readable text, of the
  // rest its size.
  const bodies: Record<string, [type: string | undefined, body: string | Buffer]> = {
    "/json": ["application/problem+json", '{"a":1}'],
    "/html": ["text/html; charset=utf-8", "<h1>Hi</h1><script>x</script>"],
    "/latin": ["text/plain; charset=iso-8859-1", Buffer.from([0xe9])],
    "/png": ["image/png", Buffer.alloc(70)],
    "/none": [undefined, "text"],
  };
  await using server = await listen(({ url = "" }, response) => {
    const [type, body] = bodies[url] ?? ["text/plain", "nothing here"];
    if (type !== undefined) response.setHeader("content-type", type);
    response.statusCode = url in bodies ? 200 : 404;
    response.end(body);
  });
  const texts = ["/json", "/html", "/latin", "/png", "/none", "/other"].map(async (path) => {
    const { status, text, bytes, truncated } = await get({ url: server.url + path });
    assert.equal(truncated, false);
    return [status, text, bytes];
  });
  assert.deepEqual(await Promise.all(texts), [
    [200, '{"a":1}', 7],
    [200, "Hi", 29],
    [200, "é", 1],
    [200, null, 70],
    [200, null, 4],
    [404, "nothing here", 12],
  ]);
  assert.equal((await get({ url: `${server.url}/html`, raw: true })).text, "<h1>Hi</h1><script>x</script>");
  const head = await get({ url: `${server.url}/html`, method: "HEAD" });
  assert.deepEqual([head.status, head.text, head.content_type], [200, null, "text/html; charset=utf-8"]);
  assert.equal(server.requests.at(-1)?.method, "HEAD");
});

test("TOL-4 truncates a large answer between characters and says so", async () => {
  // Given an answer that is too large, when it is fetched, then it is cut between letters and says so.
  await using server = await listen((_, response) => {
    response.setHeader("content-type", "text/plain");
    const more = () => {
      while (response.write("é€".repeat(1000)));
    };
    response.on("drain", more);
    more();
  });
  const { text, bytes, truncated } = await get({ url: server.url });
  assert.deepEqual([bytes, truncated], [1024 * 1024, true]);
  assert.match(text ?? "", /^(?:é€)+é?$/);
});

test("TOL-4 checks each redirect anew, up to a limit, and keeps headers to their origin", async () => {
  // Given redirects, when they are followed, then each address is checked anew, to a limit, and headers stay with their
  // origin.
  await using elsewhere = await listen((_, response) => {
    response.setHeader("content-type", "text/plain").end("there");
  });
  await using server = await listen(({ url = "" }, response) => {
    const step = Number(url.slice(1));
    const to: Record<string, string> = {
      "/away": `${elsewhere.url}/`,
      "/inside": "http://169.254.169.254/latest/",
      "/file": "file:///etc/passwd",
      "/nowhere": "http://",
    };
    response.writeHead(302, { location: to[url] ?? (step === 1 ? "/away" : `/${step - 1}`) }).end();
  });
  const headers = { "x-token": "mine" };
  assert.equal((await get({ url: `${server.url}/4`, headers })).text, "there");
  assert.deepEqual(
    server.requests.map((request) => request.headers["x-token"]),
    Array(5).fill("mine"),
  );
  assert.equal(elsewhere.requests[0]?.headers["x-token"], undefined);
  await assert.rejects(get({ url: `${server.url}/5` }), /more than 5 redirects/);
  await assert.rejects(get({ url: `${server.url}/inside` }), OutboundRefused);
  await assert.rejects(get({ url: `${server.url}/file` }), OutboundRefused);
  await assert.rejects(get({ url: `${server.url}/nowhere` }), /no URL/);
  assert.equal(elsewhere.requests.length, 1);
});

test("TOL-4 rejects non-public addresses unless the server allows them, and sends nothing", async () => {
  // Given addresses that are not public, when a server does not allow them, then they are refused and nothing is sent.
  await using server = await listen((_, response) => response.end());
  const context = toolContext({ outbound: createOutbound({ allowPrivate: false }) });
  for (const url of [server.url, server.url.replace("http:", "https:"), "ftp://a.example/", "nonsense"])
    await assert.rejects(get({ url }, context), OutboundRefused, url);
  await assert.rejects(post({ url: server.url, body: "" }, context), OutboundRefused);
  assert.equal(server.requests.length, 0);
});

test("TOL-4 a post carries the same idempotency key on every attempt", async () => {
  // Given something to send, when it is sent, then it arrives with a key that is the same on every attempt.
  await using server = await listen(({ url }, response) => {
    if (url === "/once") response.writeHead(303, { location: "/result" }).end();
    else response.writeHead(201, { "content-type": "text/plain" }).end("made");
  });
  const { status, text } = await post({ url: server.url, body: '{"a":1}' });
  assert.deepEqual([status, text], [201, "made"]);
  const [request] = server.requests;
  assert.equal(request?.body, '{"a":1}');
  assert.equal(request?.headers["content-type"], "application/json");
  assert.equal(request?.headers["idempotency-key"], toolContext().idempotencyKey);
  await post({
    url: `${server.url}/once`,
    body: "x",
    content_type: "text/plain",
    headers: { "x-token": "mine" },
  });
  const result = server.requests.at(-1);
  assert.deepEqual([result?.method, result?.url, result?.body], ["GET", "/result", ""]);
  assert.deepEqual([result?.headers["x-token"], result?.headers["content-type"]], ["mine", undefined]);
});

test("TOL-4 does not follow the redirect of a post to another origin", async () => {
  // Given a redirect of something that is sent, when it points to another origin, then it does not go there.
  await using elsewhere = await listen((_, response) => response.end());
  await using server = await listen(({ url }, response) => {
    response.writeHead(307, { location: url === "/here" ? "/there" : `${elsewhere.url}/` }).end();
  });
  await assert.rejects(post({ url: `${server.url}/here`, body: "x" }), /another origin/);
  assert.deepEqual(
    server.requests.map(({ method, url, body }) => [method, url, body]),
    [
      ["POST", "/here", "x"],
      ["POST", "/there", "x"],
    ],
  );
  assert.equal(elsewhere.requests.length, 0);
});

test("TOL-4 rejects headers of the connection and those that would become two", async () => {
  // Given headers that belong to the connection, or that would be two, when they are given, then the call is refused.
  for (const headers of [{ host: "a" }, { "content-length": "1" }, { "x-a": "1\r\nx-b: 2" }, { "X-A": "1" }])
    await assert.rejects(get({ url: "http://127.0.0.1:1/", headers }), { code: "tool_input_invalid" });
});

test("TOL-4 canceling the task ends a call to a silent server and its connection", async () => {
  // Given a server that says nothing, when the task is canceled, then the call ends and so does the connection.
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  const canceled = new AbortController();
  await using server = await listen((request) => {
    request.socket.on("close", () => onClosed());
    canceled.abort(new Error("canceled"));
  });
  await assert.rejects(get({ url: server.url }, toolContext({ signal: canceled.signal })), /canceled/);
  await closed;
});

test("TRC-6 a traced step sends its traceparent with web requests, also through a redirect", async () => {
  // Given a step that is part of a trace, when it asks the web, then the traceparent goes along, also through a
  // redirect.
  await using server = await listen(({ url }, response) => {
    response.writeHead(url === "/" ? 302 : 200, { location: "/there", "content-type": "text/plain" }).end();
  });
  const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
  const context = toolContext({ traceHeaders: { traceparent } });
  await get({ url: server.url }, context);
  await post({ url: `${server.url}/there`, body: "{}" }, context);
  assert.deepEqual(
    server.requests.map(({ method, headers }) => [method, headers.traceparent]),
    [
      ["GET", traceparent],
      ["GET", traceparent],
      ["POST", traceparent],
    ],
  );
});
