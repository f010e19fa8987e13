// What is global in a service worker; the types of the browser say it of workers in general.

declare const clients: Clients;
declare function skipWaiting(): Promise<void>;
declare function addEventListener(
  type: "activate" | "install",
  listener: (event: ExtendableEvent) => void,
): void;
declare function addEventListener(type: "fetch", listener: (event: FetchEvent) => void): void;

interface FetchEvent {
  respondWith(response: Promise<Response | undefined>): void; // without one the request fails, as without a worker
}
