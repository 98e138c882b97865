/** Where requests go that somebody else chose the address of, however that is written and whatever answers there. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from "node:net";
import { describe, test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { createOutbound, OutboundFailed, OutboundRefused } from "./outbound.ts";
import { isReachable } from "./reachable.ts";

const strict = createOutbound({ allowPrivate: false });

/** What must not be reached, written down here once more as numbers: first address, length of the prefix. */
const forbidden: readonly [first: string, bits: number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

function toNumber(dotted: string): number {
  return dotted.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toDotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

function isForbidden(address: number): boolean {
  return forbidden.some(([first, bits]) => {
    const size = 2 ** (32 - bits);
    return address >= toNumber(first) && address < toNumber(first) + size;
  });
}

/** Every range is met often, and so is everything between them. */
const anyAddress = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  ...forbidden.map(([first, bits]) =>
    fc.integer({ min: toNumber(first), max: toNumber(first) + 2 ** (32 - bits) - 1 }),
  ),
);
const forbiddenAddress = anyAddress.filter(isForbidden);

/** The ways to write an IPv4 address that a URL has. */
const spellings: Record<string, (address: number) => string> = {
  dotted: toDotted,
  "with the dot of the root": (address) => `${toDotted(address)}.`,
  decimal: String,
  hexadecimal: (address) => `0x${address.toString(16)}`,
  octal: (address) => `0${address.toString(8)}`,
  "dotted, hexadecimal": (address) =>
    toDotted(address)
      .split(".")
      .map((part) => `0X${Number(part).toString(16).toUpperCase()}`)
      .join("."),
  "dotted, octal": (address) =>
    toDotted(address)
      .split(".")
      .map((part) => `0${Number(part).toString(8)}`)
      .join("."),
  "in two parts": (address) => `${Math.floor(address / 2 ** 24)}.${address % 2 ** 24}`,
  "in digits of full width": (address) =>
    toDotted(address).replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  "with encoded digits": (address) => toDotted(address).replaceAll(/\d/g, (digit) => `%3${digit}`),
  "mapped into IPv6": (address) => `[::ffff:${toDotted(address)}]`,
  "compatible with IPv6": (address) => `[::${toDotted(address)}]`,
  "behind NAT64": (address) => `[64:ff9b::${toDotted(address)}]`,
  "inside 6to4": (address) => `[2002:${hextets(address)}::1]`,
};

function hextets(address: number): string {
  return [Math.floor(address / 2 ** 16), address % 2 ** 16].map((part) => part.toString(16)).join(":");
}

describe("Addresses", () => {
  test("SSR-1 exactly the IPv4 addresses outside all special ranges are public", () => {
    // Given any IPv4 address, when it is judged, then exactly those outside of all special ranges are public.
    fc.assert(
      fc.property(anyAddress, (address) => {
        // Two ranges for relays and for DNS that were once public are refused as well.
        const isRelay = /^192\.(?:88\.99|175\.48|31\.196|52\.193)\./.test(toDotted(address));
        const expected = !isForbidden(address) && !isRelay;
        assert.equal(
          isReachable(toDotted(address), { allowPrivate: false, blocked: [] }),
          expected,
          toDotted(address),
        );
      }),
      { numRuns: cases(3000) },
    );
  });

  for (const [name, spell] of Object.entries(spellings)) {
    test(`SSR-1 rejects a forbidden address, ${name}, without repeating it`, () => {
      // Given a forbidden address, ${name}, when its URL is checked, then it is refused without being repeated.
      fc.assert(
        fc.property(forbiddenAddress, (address) => {
          const url = `https://${spell(address)}/hook`;
          assert.throws(
            () => strict.check(url),
            (error) => error instanceof OutboundRefused && !error.message.includes(toDotted(address)),
            url,
          );
        }),
        { numRuns: cases(200) },
      );
    });
  }

  const notPublic = [
    "https://localhost/",
    "https://LOCALHOST./",
    "https://ｌocalhost/",
    "https://a.b.localhost:8443/",
    "https://[::1]/",
    "https://[::]/",
    "https://[fe80::1]/",
    "https://[fc00::1]/",
    "https://[fdff:1::1]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[2001::1]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[4000::1]/",
    "https://[0:0:0:0:0:ffff:7f00:1]/",
  ];
  for (const url of notPublic) {
    test(`SSR-1 given ${url}, when it is checked, then it is refused`, () => {
      assert.throws(() => strict.check(url), OutboundRefused);
    });
  }

  const notForUs = [
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "https://user@example.com/",
    "https://user:hunter2pass@example.com/",
    "https://",
    "not a URL",
    "",
  ];
  for (const url of notForUs) {
    test(`SSR-3 rejects ${JSON.stringify(url)} without repeating it`, () => {
      // Given ${JSON.stringify(url)}, when it is checked, then it is refused without being repeated.
      assert.throws(
        () => strict.check(url),
        (error) =>
          error instanceof OutboundRefused &&
          !error.message.includes("hunter2pass") &&
          !/example/.test(error.message),
      );
    });
  }

  for (const url of [
    "https://example.com/a?b#c",
    "https://8.8.8.8:444/",
    "https://[2606:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
  ]) {
    test(`SSR-1 given ${url}, when it is checked, then it is let through`, () => {
      assert.equal(strict.check(url).href, new URL(url).href);
    });
  }

  const allowing = createOutbound({ allowPrivate: true });
  test("SSR-6 with private addresses allowed, loopback and private URLs pass, link-local do not", () => {
    // Given private addresses allowed, when URLs are checked, then loopback and private ones pass, and link-local and
    // others do not.
    for (const host of ["localhost", "127.0.0.1", "[::1]", "10.1.2.3", "192.168.0.1", "[fd00::1]"])
      assert.ok(allowing.check(`http://${host}:1/`));
    for (const host of ["169.254.169.254", "0.0.0.0", "[fe80::1]", "224.0.0.1", "[::ffff:169.254.169.254]"])
      assert.throws(() => allowing.check(`http://${host}/`), OutboundRefused, host);
  });
});

interface Listening extends AsyncDisposable {
  port: number;
  requests: number;
}

async function listen(answer: RequestListener): Promise<Listening> {
  const listening = { port: 0, requests: 0 };
  const server: Server = createServer((request, response) => {
    listening.requests += 1;
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  listening.port = (server.address() as AddressInfo).port;
  return Object.assign(listening, {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

/** The same without HTTP. */
async function bound(server: TcpServer): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

describe("Names", () => {
  const publicOne = { address: "8.8.8.8", family: 4 };
  const hidden = ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"];
  for (const address of hidden) {
    test(`SSR-2 rejects a name that resolves to ${address} too, without revealing the address`, async () => {
      // Given a name with ${address} among its addresses, when it is asked, then it is refused, and what it resolved to
      // is not said.
      const found = [publicOne, { address, family: 4 }, publicOne];
      const outbound = createOutbound({ allowPrivate: false, resolve: async () => found });
      await assert.rejects(
        outbound.request("https://hook.example/"),
        (error) => error instanceof OutboundRefused && !error.message.includes(address),
      );
    });
  }

  test("SSR-2 connects to the checked address even if the name resolves differently later", async () => {
    // Given a name that means something else a moment later, when it is asked, then the connection goes to the address
    // that was checked.
    await using server = await listen((request, response) => response.end(request.headers.host));
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
    };
    const outbound = createOutbound({ allowPrivate: true, resolve });
    const answer = await outbound.fetch(`http://Hook.Example.:${server.port}/`);
    assert.equal(await answer.text(), `hook.example:${server.port}`);
    assert.equal(asked, 1);
  });

  test("SSR-2 a TLS request to a pinned address still uses the host name", async () => {
    // Given a TLS receiver, when it is asked by its pinned address, then it is asked for by its name.
    const asked: string[] = [];
    const tls = createTlsServer({
      SNICallback(name, done) {
        asked.push(name);
        done(new Error("no certificate here"));
      },
    });
    await using server = await bound(tls);
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    const outbound = createOutbound({ allowPrivate: true, resolve });
    await assert.rejects(outbound.request(`https://hook.example:${server.port}/`), OutboundFailed);
    assert.deepEqual(asked, ["hook.example"]);
  });

  test("SSR-4 given a name that is never resolved, when it is asked, then it ends in time", async () => {
    const outbound = createOutbound({ allowPrivate: false, resolve: () => new Promise(() => {}) });
    await assert.rejects(
      outbound.request("https://hook.example/", { connectMs: 20 }),
      /no connection in time/,
    );
  });

  test("SSR-5 the error for a name that does not resolve does not repeat the name", async () => {
    // Given a name without an address, when it is asked, then the failure does not repeat it.
    const outbound = createOutbound({ allowPrivate: false });
    await assert.rejects(
      outbound.request("https://secret-name.invalid/?token=abc"),
      (error) => error instanceof OutboundFailed && !/secret-name|abc/.test(error.message),
    );
  });
});

describe("Answers", () => {
  const outbound = createOutbound({ allowPrivate: true });

  for (const status of [301, 302, 303, 307, 308]) {
    test(`SSR-3 a redirect with ${status} fails with an error that says so and is not followed`, async () => {
      // Given a redirect with ${status}, when it comes, then it is a failure that says so, and nobody follows it.
      await using elsewhere = await listen((_, response) => response.end());
      await using server = await listen((_, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${elsewhere.port}/` }).end();
      });
      const url = `http://127.0.0.1:${server.port}/`;
      for (const ask of [() => outbound.request(url), () => outbound.fetch(url)])
        await assert.rejects(ask, /redirects are not followed/);
      assert.deepEqual([server.requests, elsewhere.requests], [2, 0]);
    });
  }

  test("SSR-4 a request to a server that accepts but never answers times out", async () => {
    // Given a receiver that takes connections and says nothing, when it is asked, then it ends in time.
    await using server = await bound(createTcpServer(() => {}));
    await assert.rejects(
      outbound.request(`http://127.0.0.1:${server.port}/`, { headersMs: 50 }),
      /no answer in time/,
    );
  });

  const nonsense = {
    "a switch to another protocol":
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    "something that is no HTTP": "hello\r\n\r\n",
    "endless headers": `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`,
    "a status that means nothing": "HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n",
    nothing: "",
  };
  for (const [what, answer] of Object.entries(nonsense)) {
    test(`SSR-4 given ${what} for an answer, when it comes, then it is a failure`, async () => {
      const answering = createTcpServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(answer));
      });
      await using server = await bound(answering);
      await assert.rejects(outbound.fetch(`http://127.0.0.1:${server.port}/`), OutboundFailed);
    });
  }

  test("SSR-4 reading an endless body stops at the size limit and in time", async () => {
    // Given a body that never ends, when it is read, then it ends at its limit, and in time.
    await using server = await listen((_, response) => {
      const more = () => {
        while (response.write("x".repeat(1000)));
      };
      response.on("drain", more);
      more();
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const limited = outbound.fetchWithin({ answerBytesMax: 10_000 });
    await assert.rejects(async () => (await limited(url)).text());
    const slow = outbound.fetchWithin({ totalMs: 100 });
    await assert.rejects(async () => (await slow(url)).text());
  });

  test("SSR-4 given a caller that gives up, when it says so, then the request ends", async () => {
    await using server = await listen(() => {});
    const controller = new AbortController();
    const asking = outbound.fetch(`http://127.0.0.1:${server.port}/`, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(asking, { name: "AbortError" });
  });

  test("SSR-5 the error for a refused connection has the error code but no address", async () => {
    // Given a port where nobody listens, when it is asked, then the failure has the kind of error and no address.
    const { port, ...gone } = await listen(() => {});
    await gone[Symbol.asyncDispose]();
    await assert.rejects(outbound.request(`http://127.0.0.1:${port}/`), (error) => {
      assert.ok(error instanceof OutboundFailed);
      assert.equal(error.message, "The connection failed (ECONNREFUSED).");
      return true;
    });
  });

  test("SSR-7 fetch passes methods, headers, bodies and statuses through", async () => {
    // Given a library that wants a fetch, when it posts and reads, then methods, headers, bodies and statuses go
    // through.
    await using server = await listen(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      const { method, url, headers } = request;
      response.writeHead(url === "/missing" ? 404 : 200, {
        "x-answer": "a",
        "content-type": "application/json",
      });
      response.end(
        JSON.stringify({ method, url, body, type: headers["content-type"], mine: headers["x-mine"] }),
      );
    });
    const url = `http://127.0.0.1:${server.port}`;
    const init = { method: "POST", headers: { "x-mine": "1", "content-type": "text/x" }, body: "words" };
    const answer = await outbound.fetch(`${url}/missing`, init);
    assert.deepEqual([answer.status, answer.ok, answer.headers.get("x-answer")], [404, false, "a"]);
    const expected = { method: "POST", url: "/missing", body: "words", type: "text/x", mine: "1" };
    assert.deepEqual(await answer.json(), expected);
    const again = await outbound.fetch(new Request(`${url}/here?a=b`, { method: "PUT", body: "more" }));
    const { method, url: path, body } = (await again.json()) as typeof expected;
    assert.deepEqual([again.status, method, path, body], [200, "PUT", "/here?a=b", "more"]);
  });

  test("SSR-7 fetch delivers a streamed answer chunk by chunk, and aborting ends it", async () => {
    // Given an answer that is a stream, when it is read, then every part comes as it was sent, and giving up ends it.
    const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
    const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
    await using server = await listen(async (_, response) => {
      response.on("close", onClosed);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      await mayGoOn;
      response.write("data: 2\n\n");
    });
    const { body } = await outbound.fetch(`http://127.0.0.1:${server.port}/`);
    assert.ok(body);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await reader.read()).value, "data: 1\n\n");
    goOn();
    assert.equal((await reader.read()).value, "data: 2\n\n");
    await reader.cancel();
    await closed;
  });

  test("SSR-7 aborting a streamed answer ends it even after garbage collection", async () => {
    // Given an answer that is a stream, when memory was collected before it is given up by a signal, then it ends all
    // the same.
    await using server = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
    });
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const abort = new AbortController();
    const { body } = await outbound.fetch(`http://127.0.0.1:${server.port}/`, { signal: abort.signal });
    assert.ok(body);
    const reader = body.getReader();
    await reader.read();
    // What only belongs to the request is gone by now.
    for (const _ of Array(5)) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    abort.abort(new Error("given up"));
    await assert.rejects(reader.read(), /given up/);
  });

  test("SSR-7 given a body that is a stream, when it is sent, then it arrives in parts", async () => {
    await using server = await listen(async (request, response) => {
      response.end(Buffer.concat(await request.toArray()));
    });
    const parts = ReadableStream.from(["a", "b", "c"].map((text) => new TextEncoder().encode(text)));
    const init: RequestInit = { method: "POST", body: parts, duplex: "half" };
    assert.equal(await (await outbound.fetch(`http://127.0.0.1:${server.port}/`, init)).text(), "abc");
  });
});
