// Shows a page of its own where there is no connection. Everything else is left to the browser.
const CACHE = "offline-{{ version }}";
const FILES = {{ files|tojson }};

addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => {
  const old = (/** @type {string[]} */ names) => names.filter((name) => name !== CACHE).map((name) => caches.delete(name));
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names))).then(() => clients.claim()));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(() => caches.match("{{ offline }}", { ignoreVary: true })));
  } else if (FILES.includes(new URL(request.url).pathname) && request.method === "GET") {
    event.respondWith(caches.match(request, { ignoreVary: true }).then((found) => found ?? fetch(request)));
  }
});
