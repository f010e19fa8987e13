// Number Tower in the browser. Every page works without this script; with it, pages follow the game by themselves.
// Forms marked data-live are sent in the background, and the answer is morphed into the page.

const root = document.documentElement;
const connection = document.getElementById("connection");
const LOST = "Connection lost. Trying again…";
const BEHIND = "The server is not answering, so this may be out of date. Trying again…";
const COPIED = "Copied.";
const getMain = () => /** @type {HTMLElement} */ (document.getElementById("main"));
const getRoom = () => getMain().dataset.room;
/** @type {FindClosest} */
const closest = (/** @type {any} */ event, /** @type {string} */ selector) => event.target.closest?.(selector);
const parse = (/** @type {string} */ html) => new DOMParser().parseFromString(html, "text/html");
/** @param {HTMLFormElement} form @param {HTMLElement?} [button] */
const encode = (form, button) => new URLSearchParams(/** @type {any} */ (new FormData(form, button)));

root.classList.add("js");
if ("share" in navigator && matchMedia("(pointer: coarse)").matches) root.classList.add("can-share");

/** @param {string} name @param {string} value */
function setCookie(name, value) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax${secure}`;
}

/** @param {string} text */
function setMessage(text) {
  if (connection.textContent !== text) connection.textContent = text;
}

/** @param {string[]} texts */
function clearMessage(...texts) {
  if (texts.includes(connection.textContent)) setMessage("");
}

// Showing what the server answers ------------------------------------------------------------------------------

// Revisions such as 7 or 4.12 only grow: answers may overtake each other, and an earlier state never replaces a later one.
/** @param {string?} [one] @param {string?} [than] */
const isLater = (one, than) => (one ?? "").localeCompare(than ?? "", "en", { numeric: true }) > 0;

// Every request in a game names the newest state that this page has seen, so that no server shows an earlier one.
/** @param {string} path */
function addSeen(path) {
  const shown = getMain().dataset.revision;
  const seen = isLater(newest, shown) ? newest : shown;
  return seen && path.startsWith(`${getRoom()}`) ? `${path}?seen=${seen}` : path;
}

// A private link and a hint are sent once: copy them into the fresh page until the seat or the position changes.
/** @param {HTMLElement} fresh */
function keepLinkAndHint(fresh) {
  const [link, hint] = ["#private-link", ".hint"].map((each) => !fresh.querySelector(each) && getMain().querySelector(each));
  if (link) {
    const field = link.closest(".field");
    const copies = [field.previousElementSibling, field].map((each) => each.cloneNode(true));
    fresh.querySelector('form[action$="/handover"]')?.before(...copies);
  }
  const form = fresh.querySelector('.actions form[action$="/hint"]');
  if (hint && form && fresh.dataset.version === getMain().dataset.version) {
    fresh.querySelector("#aid").prepend(hint.cloneNode(true));
    const gap = document.createElement("span"); // the other buttons stay where they are
    gap.className = "button quiet gap";
    gap.ariaHidden = "true";
    gap.append(...form.querySelector("button").cloneNode(true).childNodes);
    form.replaceWith(gap);
    const pointed = getMain().querySelector(".block.pointed");
    if (pointed) fresh.querySelector(`#${pointed.id}`)?.classList.add("pointed");
  }
}

// An idea is introduced the first time that it appears: in a game, a lesson, a puzzle or an analysis.
function hideIntroductions() {
  const { version } = getMain().dataset;
  const game = `${location.pathname} ${version?.split(".")[0] ?? document.title}`;
  const position = version ?? location.search;
  for (const text of getMain().querySelectorAll("[data-idea]")) {
    const key = `${game} ${text.dataset.idea}`;
    try { sessionStorage[key] ??= position; text.hidden = sessionStorage[key] !== position; } catch { /* without storage it is shown again */ }
  }
}

/** @param {string} html @param {number} status */
function show(html, status) {
  const before = getMain().dataset.version;
  const fresh = parse(html).getElementById("main");
  if (!fresh) return false;
  // A server in trouble answers with a page that says so: no reason to take the board away.
  if (getRoom() && !fresh.dataset.room && status !== 404) return false;
  const opens = fresh.querySelector("#private-link");
  if (fresh.dataset.room === getRoom()) {
    if (isLater(getMain().dataset.revision, fresh.dataset.revision)) return true;
    keepLinkAndHint(fresh);
  }
  const focused = getMain().contains(document.activeElement);
  Idiomorph.morph(getMain(), fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: document.activeElement?.matches("input"), // of a focused button it would keep the old words
    callbacks: {
      // Open details stay open, a half-typed number stays, and a block that was shown at once does not fall again.
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details:not(#resign)") && !opens) && !(name === "value" && node.id === "typed") && name !== "data-settled",
    },
  });
  document.title = getMain().dataset.title;
  hideIntroductions();
  if (focused && !getMain().contains(document.activeElement)) {
    // The button that had the focus is gone: go on where there is something to answer.
    (document.querySelector(".offer button, .after button") ?? getMain()).focus({ preventScroll: true });
  }
  if (before !== undefined && getMain().dataset.version !== before) {
    // Do not say at once that the block just placed is used.
    document.querySelector(".blocks")?.classList.add("quiet-blocks");
    playSound();
  }
  showTour();
  follow();
  goOn();
  if (sending?.block && sending.version === getMain().dataset.version) showPending(sending);
  else sendNext();
  return true;
}

// In a class the page of a pupil leads to the next game as soon as there is one.
function goOn() {
  const { goto } = getMain().dataset;
  if (goto) location.assign(goto);
}

// A board on the wall of a class: the event has it as HTML.
/** @param {string} html */
function showBoard(html) {
  const fresh = parse(html).body.firstElementChild;
  const shown = fresh && document.getElementById(fresh.id);
  if (shown) Idiomorph.morph(shown, fresh, { morphStyle: "outerHTML" });
}

// Nothing moves under a finger: between press and click, a shifted page would take the click to another place.
/** @type {Promise<void>?} */
let press = null; // ends with the press

document.addEventListener("pointerdown", (event) => {
  if (event.button || !closest(event, "a, button, label, summary")) return;
  /** @type {Promise<void>} */
  const current = new Promise((end) => {
    const release = () => {
      if (press === current) press = null;
      end();
    };
    addEventListener("pointercancel", release, { once: true });
    addEventListener("click", () => setTimeout(release), { once: true }); // after the form was submitted
    addEventListener("pointerup", () => setTimeout(release, 100), { once: true }); // if no click follows
    setTimeout(release, 60000); // if the end of the press is never heard of
  });
  press = current;
});

// Players who come or go change no state: only what is said of them is shown anew.
/** @param {string} html */
function showPresence(html) {
  const fresh = parse(html).getElementById("main");
  if (!fresh) return;
  getMain().dataset.presence = fresh.dataset.presence;
  for (const part of getMain().querySelectorAll(".presence, #claim")) {
    const other = fresh.querySelector(`#${part.id}`);
    if (other) Idiomorph.morph(part, other);
  }
}

let refreshing = false;
/** @type {string?} */
let newest = null;
/** @type {string?} */
let present = null; // what the stream has said of the players
let retry = 0;

async function refresh() {
  if (!getRoom() || refreshing) return;
  clearTimeout(retry);
  retry = 0;
  const wanted = newest;
  const known = present;
  refreshing = true;
  try {
    const answer = await fetch(addSeen(`${getRoom()}/table`), { headers: { "X-Fragment": "1", ...(document.hidden && { "X-Hidden": "1" }) }, cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok && answer.status !== 404) throw new Error(answer.statusText);
    const html = await answer.text();
    while (press) await press;
    // The same state again would only remove what was said about the last move.
    if (!answer.ok || !html.includes(`data-revision="${getMain().dataset.revision}"`)) show(html, answer.status);
    else if (!html.includes(`data-presence="${getMain().dataset.presence}"`)) showPresence(html);
    clearMessage(LOST, BEHIND);
  } catch (error) {
    setMessage(error instanceof TypeError ? LOST : BEHIND); // fetch throws a TypeError where no server answers
    retry = setTimeout(refresh, 2000);
  } finally {
    refreshing = false;
  }
  // Ask again for changes made while the answer was on its way.
  if (!retry && ((newest !== wanted && isLater(newest, getMain().dataset.revision)) || present !== known)) refresh();
}

// Sending forms ------------------------------------------------------------------------------------------------

/** @param {number} status */
function describeFailure(status) {
  if (status === 429) return "Too many requests. Please wait a moment and try again.";
  if (status >= 500) return "The server cannot do that right now. Your game is safe. Please try again in a moment.";
  return "That did not work. Your game is safe. Please reload this page.";
}

/** @type {Sending?} */
let sending = null; // what is on its way: the form, its button and content, and of a move the block and the version
/** @type {BlockButton?} */
let next = null; // the block that was pressed meanwhile

/** @param {HTMLFormElement} form @param {HTMLButtonElement?} button */
function send(form, button) {
  if (sending) {
    if (button !== sending.button && button?.matches(".block")) next = button;
    return;
  }
  if (!stream) connect();
  const body = encode(form, button);
  const { version } = getMain().dataset;
  sending = /** @type {Sending} */ ({ form, button, body, version, block: form.action.endsWith("/move") && findOpenBlock(body.get("block")) });
  if (sending.block) showPending(sending);
  post(sending);
}

/** @param {Sending} sent */
async function post(sent) {
  let failure = "";
  try {
    const answer = await fetch(addSeen(sent.form.getAttribute("action")), { method: "POST", headers: { "X-Fragment": "1" }, body: sent.body });
    const html = await answer.text();
    while (press) await press;
    const typed = answer.ok && sent.form.querySelector("#typed");
    if (typed) typed.value = "";
    if (sending === sent) sending = null;
    if (answer.ok && sent.block) tourStep++;
    failure = show(html, answer.status) ? "" : describeFailure(answer.status);
  } catch {
    next = null;
    if (sending === sent && sent.block && !navigator.onLine) return showUnsent(sent);
    failure = navigator.onLine ? "That was not sent. Your game is safe. Please try again." : "You are offline. Your game is safe. Continue when you are online again.";
  }
  setMessage(failure);
  finish(sent);
}

/** @param {Sending} sent */
function finish(sent) {
  hidePending(sent);
  if (sending === sent) sending = null;
  if (!sending) sendNext();
}

function sendNext() {
  const block = next;
  sending = next = null;
  if (block?.isConnected) block.form.requestSubmit(block);
}

// A move made without a connection waits for it, and can be taken back until then.
/** @param {SentMove} sent */
function showUnsent(sent) {
  const notice = showNotice(`You are offline. Your ${sent.block.value} is sent when you are online again.`);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button";
  button.textContent = "Take it back";
  button.addEventListener("click", () => {
    notice.remove();
    finish(sent);
  });
  notice.append(" ", button);
  addEventListener("online", () => { if (sending === sent) post(sent); }, { once: true });
}

// Own moves are shown at once, as pending, until the server has them ---------------------------------------------------

const findOpenBlock = (/** @type {string} */ number) => document.querySelector(`button.block[value="${parseInt(number, 10)}"]:not([aria-disabled])`);

/** @param {SentMove} sent */
function showPending(sent) {
  sent.block = document.getElementById(sent.block.id) ?? sent.block;
  sent.block.classList.add("pending");
  sent.block.ariaBusy = "true";
  const tower = document.querySelector("#board [data-grows]");
  if (!tower || document.getElementById(tower.dataset.piece)) return;
  sent.piece = drawPiece(tower, sent.block);
  tower.append(sent.piece);
}

// The numbers are those of number_tower.drawing.towers.
/** @param {HTMLElement} tower @param {BlockButton} block */
function drawPiece(tower, block) {
  const [bottom, unit, row, left, width, widest, largest] = tower.dataset.grows.split(" ").map(Number);
  const number = Number(block.value);
  const { seat } = block.form.dataset;
  const height = Math.max((unit ? number * unit : row) - 1.5, 1);
  const across = widest * (0.28 + 0.72 * number / largest);
  const middle = (left + width) / 2;
  const top = Math.max(bottom - height, 0);
  const piece = createDrawing("g", { id: tower.dataset.piece, class: "piece pending", "data-settled": "" });
  const shape = { x: middle - across / 2, y: top, width: across, height, rx: Math.min(4, height / 3) };
  piece.append(createDrawing("rect", { class: `block-${seat}`, ...shape }));
  if (seat === "2") piece.append(createDrawing("rect", { fill: "url(#weave)", ...shape }));
  if (height >= 10) {
    const label = createDrawing("text", { class: `number on-${seat}`, x: middle, y: top + height / 2, "font-size": Math.min(15, height * 0.8) });
    label.textContent = block.value;
    piece.append(label);
  }
  return piece;
}

/** @param {string} name @param {Record<string, string | number>} attributes */
function createDrawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// The answer has settled a piece that the server has: it is pending no more, and stays.
/** @param {Sending} sent */
function hidePending(sent) {
  if (!sent.block) return;
  sent.block.classList.remove("pending");
  sent.block.ariaBusy = null;
  if (sent.piece?.matches(".pending")) sent.piece.remove();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter;
  form.closest(".wall .menu")?.removeAttribute("open");
  if (form.id === "theme" && button) changeTheme(button);
  else if (!form.matches("[data-live]")) return;
  else if (button?.getAttribute("aria-disabled") === "true") showRefusal(button);
  else send(form, button);
  event.preventDefault();
});

/** @param {HTMLButtonElement} button */
function showRefusal(button) {
  const reason = document.getElementById(button.getAttribute("aria-describedby"));
  showNotice(reason ? reason.textContent : "");
}

/** @param {string} text */
function showNotice(text) {
  const notice = document.createElement("p");
  notice.className = "notice";
  notice.setAttribute("role", "alert");
  notice.textContent = text;
  document.querySelector(".notice")?.remove();
  document.getElementById("says").prepend(notice);
  return notice;
}

// The tour of a first game: three steps on the board, one at a time; a move is a step, too --------------------------------

let tourStep = 1;

function showTour() {
  const tour = document.getElementById("tour");
  if (!tour) return;
  if (tourStep > 3) return endTour(tour);
  // It belongs to this game: in the next one it is not shown again. The server's own cookie is not overwritten.
  setCookie("tour", tour.dataset.game);
  tour.dataset.at = `${tourStep}`;
  tour.querySelector('[data-tour="next"]').textContent = tourStep === 3 ? "Play" : "Next";
}

/** @param {HTMLElement} tour */
function endTour(tour) {
  const body = encode(tour.querySelector("form"));
  fetch("/preferences", { method: "POST", body, redirect: "manual", keepalive: true }).catch(() => {}); // it would be shown again
  if (tour.contains(document.activeElement)) getMain().focus({ preventScroll: true });
  tour.remove();
}

document.addEventListener("click", (event) => {
  const button = closest(event, "[data-tour]");
  if (!button) return;
  event.preventDefault();
  tourStep = button.dataset.tour === "next" ? tourStep + 1 : 4;
  showTour();
});

// Following the game -------------------------------------------------------------------------------------------

// A browser holds six connections to a server, for all its tabs together, and a stream takes one as long as it lasts.
// So only visible tabs have a stream, and of these the last few; the others poll.
const STREAMS = 3;
const tab = Math.random();
const tabs = new BroadcastChannel("streams");
const newer = new Set(); // tabs that have opened a stream after this one
/** @type {EventSource?} */
let stream = null;
/** @type {string?=} */
let followed = null;
let reconnecting = 0;
let polling = 0;

function follow() {
  const room = getRoom();
  if (room === followed) return;
  followed = room;
  newest = null;
  connect();
}

function connect() {
  if (document.hidden) poll();
  else openStream();
}

function reconnect() {
  connect();
  refresh();
}

function disconnect() {
  clearTimeout(reconnecting);
  clearInterval(polling);
  stream?.close();
  stream = null;
}

function poll() {
  disconnect();
  if (followed) polling = setInterval(refresh, document.hidden ? 15000 : 3000);
}

function openStream() {
  disconnect();
  if (!followed) return;
  newer.clear();
  tabs.postMessage(tab);
  const opened = new EventSource(addSeen(`${followed}/events`));
  stream = opened;
  opened.addEventListener("state", (event) => {
    setMessage("");
    newest = event.lastEventId;
    if (isLater(newest, getMain().dataset.revision)) refresh();
  });
  opened.addEventListener("board", (event) => showBoard(event.data));
  opened.addEventListener("presence", (event) => {
    present = event.data;
    if (present !== getMain().dataset.presence) refresh();
  });
  opened.onerror = () => {
    setTimeout(() => { if (opened === stream && opened.readyState !== EventSource.OPEN) setMessage(LOST); }, 1500);
    // A browser reconnects by itself, unless the answer was no stream. Perhaps the room is gone: look at it first.
    if (opened.readyState === EventSource.CLOSED) reconnecting = setTimeout(async () => { await refresh(); if (opened === stream) openStream(); }, 3000);
  };
}

tabs.onmessage = (event) => {
  newer.add(event.data);
  if (stream && newer.size >= STREAMS) poll();
};

document.addEventListener("visibilitychange", reconnect);
addEventListener("focus", () => { if (!stream) reconnect(); });
addEventListener("online", reconnect);
addEventListener("pageshow", (event) => { if (event.persisted) reconnect(); });
addEventListener("pagehide", disconnect);

for (const kind of ["mousemove", "keydown"]) {
  document.addEventListener(kind, () => document.querySelector(".quiet-blocks")?.classList.remove("quiet-blocks"));
}

// Keys: arrows from block to block and through a game, and a number typed anywhere -----------------------------------

document.addEventListener("keydown", (event) => {
  const block = closest(event, "button.block");
  if (!block || !event.key.startsWith("Arrow")) return;
  const all = [...block.form.querySelectorAll("button.block")];
  const row = all.filter((each) => each.offsetTop === all[0].offsetTop).length;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[event.key] ?? NaN;
  const target = all[all.indexOf(block) + step];
  if (!target) return;
  event.preventDefault();
  target.focus();
});

/** @type {Record<string, string>} */
const STEPS = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || closest(event, "input, textarea, select")) return;
  if (/^[0-9]$/.test(event.key)) document.getElementById("typed")?.focus();
  const link = document.querySelector(`.steps a[rel="${STEPS[event.key]}"]`);
  if (!link || event.shiftKey || closest(event, "summary")) return;
  event.preventDefault();
  link.click();
});

// A menu that lies over a page closes by Escape and by a press elsewhere.

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector(".wall .menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

document.addEventListener("click", (event) => {
  const menu = document.querySelector(".wall .menu[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
});

// Dragging a block onto the tower ----------------------------------------------------------------------------------

/** @type {Drag?} */
let drag = null;

document.addEventListener("pointerdown", (event) => {
  const block = closest(event, "button.block");
  if (block && event.button === 0) drag = { block, x: event.clientX, y: event.clientY, id: event.pointerId, ghost: null };
});

document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.id) return;
  if (!drag.ghost) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 8) return;
    const { left, top, width } = drag.block.getBoundingClientRect();
    drag.ghost = drag.block.cloneNode(true);
    drag.ghost.removeAttribute("id");
    drag.ghost.classList.add("ghost");
    Object.assign(drag.ghost.style, { left: `${left}px`, top: `${top}px`, width: `${width}px` });
    document.body.append(drag.ghost);
    drag.block.classList.add("lifted");
  }
  drag.ghost.style.transform = `translate(${event.clientX - drag.x}px, ${event.clientY - drag.y}px)`;
  document.getElementById("board")?.classList.toggle("over-it", isOverBoard(event));
});

const isOverBoard = (/** @type {PointerEvent} */ event) => !!document.elementFromPoint(event.clientX, event.clientY)?.closest("#board");

/** @param {PointerEvent} event */
function drop(event) {
  if (!drag || event.pointerId !== drag.id) return;
  const { block, ghost } = drag;
  drag = null;
  if (!ghost) return;
  ghost.remove();
  block.classList.remove("lifted");
  document.getElementById("board")?.classList.remove("over-it");
  // The click that ends a drag is no click.
  addEventListener("click", (click) => { click.preventDefault(); click.stopPropagation(); }, { capture: true, once: true, signal: AbortSignal.timeout(50) });
  if (event.type === "pointerup" && isOverBoard(event) && block.isConnected) block.form.requestSubmit(block);
}

document.addEventListener("pointerup", drop);
document.addEventListener("pointercancel", drop);

// Copy, share, colours, sound --------------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const copy = closest(event, "[data-copy]");
  const share = closest(event, "[data-share]");
  if (copy) {
    const field = document.getElementById(copy.dataset.copy);
    field.select();
    try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
    const word = copy.querySelector("span");
    word.textContent = "Copied";
    if (!connection.textContent) setMessage(COPIED);
    setTimeout(() => { word.textContent = "Copy"; clearMessage(COPIED); }, 3000);
  }
  if (share) {
    const { value } = document.getElementById(share.dataset.share);
    navigator.share(share.dataset.kind === "text" ? { text: value } : { title: "Number Tower", url: value }).catch(() => {});
  }
});

document.addEventListener("focusin", (event) => { closest(event, "[readonly]")?.select(); });

/** @type {Record<string, string>} */
const NEXT_THEME = { auto: "light", light: "dark", dark: "auto" };

/** @param {HTMLButtonElement} button */
function changeTheme(button) {
  const theme = button.value;
  root.dataset.theme = theme;
  button.value = NEXT_THEME[theme];
  button.setAttribute("aria-label", `Colours: ${theme}. Change to ${NEXT_THEME[theme]}`);
  setCookie("theme", theme);
}

const soundButton = document.getElementById("sound");
let soundOn = false;
let audio = null;

try { soundOn = localStorage.getItem("sound") === "on"; } catch { /* without storage it is off */ }
soundButton.hidden = !window.AudioContext;
soundButton.setAttribute("aria-pressed", soundOn);
soundButton.addEventListener("click", () => {
  soundOn = !soundOn;
  soundButton.setAttribute("aria-pressed", soundOn);
  try { localStorage.setItem("sound", soundOn ? "on" : "off"); } catch { /* it is on for this page */ }
  playSound();
});

function playSound() {
  if (!soundOn) return;
  audio ??= new AudioContext();
  const now = audio.currentTime;
  const tone = new OscillatorNode(audio, { type: "triangle" });
  const volume = new GainNode(audio);
  tone.frequency.setValueAtTime(320, now);
  tone.frequency.exponentialRampToValueAtTime(140, now + 0.09);
  volume.gain.setValueAtTime(0.25, now);
  volume.gain.exponentialRampToValueAtTime(0.001, now + 0.14);
  tone.connect(volume).connect(audio.destination);
  tone.start(now);
  tone.stop(now + 0.15);
}

// Without a connection ---------------------------------------------------------------------------------------------

// The service worker shows a page of its own where the server cannot be reached. There is none without https.
addEventListener("load", () => { navigator.serviceWorker?.register("/service-worker.js").catch(() => {}); });

if ("offline" in getMain().dataset && location.pathname !== "/offline") {
  addEventListener("online", () => location.reload());
  setTimeout(() => location.reload(), 10000);
}

hideIntroductions();
showTour();
follow();
goOn();
