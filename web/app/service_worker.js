// In: the site's files by name (written in by the build). Out: the playground without a network, after the first visit.
// Invariant: one cache per version; a new version replaces the old one whole; nothing foreign is cached.

const kCache = `thirdbook-${"__VERSION__"}`;
const kFiles = ["__FILES__"];

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(kCache)
      .then((cache) => cache.addAll(kFiles.filter((name) => !name.endsWith(".map"))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith("thirdbook-") && name !== kCache)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await caches.open(kCache);
  const root = new URL("./", self.registration.scope).href;
  const target = request.url.split(/[?#]/)[0] === root ? `${root}index.html` : request;
  const kept = await cache.match(target, { ignoreSearch: true });
  return kept ?? fetch(request);
}
