/** Keeps the console's own files, so that an installed console opens without a connection. Nothing of the API is kept. */

const name = "bridle-console-1";
/** Files of earlier versions are of no use. */
const filesMax = 200;

self.addEventListener("install", (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (request.mode === "navigate") event.respondWith(opened(request));
  // Their names change with their content.
  else if (pathname.startsWith("/console/assets/")) event.respondWith(kept(request));
});

/** Every page is the same document. */
async function opened(request) {
  try {
    const response = await fetch(request);
    const type = response.headers.get("Content-Type") ?? "";
    if (response.ok && type.startsWith("text/html")) {
      const cache = await caches.open(name);
      await cache.put("/runs", response.clone());
    }
    return response;
  } catch (error) {
    const document = await caches.match("/runs");
    if (document === undefined) throw error;
    return document;
  }
}

async function kept(request) {
  const cache = await caches.open(name);
  const known = await cache.match(request);
  if (known !== undefined) return known;
  const response = await fetch(request);
  if (response.ok) {
    await cache.put(request, response.clone());
    const files = await cache.keys();
    for (const file of files.slice(0, Math.max(0, files.length - filesMax))) await cache.delete(file);
  }
  return response;
}
