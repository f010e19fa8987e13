// Number Tower in the browser. Every page works without this; with it, pages follow the game by themselves.
// Forms marked data-live are sent in the background, and the answer is morphed into the page.

const root = document.documentElement;
const connection = document.getElementById("connection");
const LOST = "Connection lost; trying again…";
const BEHIND = "The server does not answer just now, so this may not be the newest state; trying again…";
const COPIED = "Copied.";
const main = () => document.getElementById("main");
const inGame = () => main().dataset.room;

root.classList.add("js");
if (navigator.share && matchMedia("(pointer: coarse)").matches) root.classList.add("can-share");

function tell(text) {
  if (connection.textContent !== text) connection.textContent = text;
}

function untell(...texts) {
  if (texts.includes(connection.textContent)) tell("");
}

// Showing what the server answers ------------------------------------------------------------------------------

// Marks such as 1.4.2 only grow: answers may overtake each other, and an earlier state never follows a later one.
function later(mark, than) {
  const [one, other] = [mark, than].map((each) => (each ?? "").split(".").map(Number));
  const place = one.findIndex((part, index) => part !== other[index]);
  return place >= 0 && one[place] > (other[place] ?? -1);
}

// Every request in a game names the newest state that this page has seen: another server that has not heard of it yet
// waits for it instead of showing an earlier one.
function seeing(path) {
  const shown = main().dataset.mark;
  const seen = later(newest, shown) ? newest : shown;
  return seen && path.startsWith(inGame()) ? `${path}?seen=${seen}` : path;
}

// A private link and a hint are given once: they stay until the seat, or the position that was asked about, is another.
function keep(fresh) {
  const [link, hint] = ["#private-link", ".hint"].map((each) => !fresh.querySelector(each) && main().querySelector(each));
  if (link) {
    const field = link.closest(".field");
    const kept = [field.previousElementSibling, field].map((each) => each.cloneNode(true));
    fresh.querySelector('form[action$="/handover"]')?.before(...kept);
  }
  const asked = fresh.querySelector('.deeds form[action$="/hint"]');
  if (hint && asked && fresh.dataset.version === main().dataset.version) {
    asked.closest(".deeds").before(hint.cloneNode(true));
    asked.remove();
    const pointed = main().querySelector(".block.pointed");
    if (pointed) fresh.querySelector(`#${pointed.id}`)?.classList.add("pointed");
  }
}

function show(html, status) {
  const before = main().dataset.version;
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (!fresh) return false;
  // A server in trouble answers with a page that says so: no reason to take the board away.
  if (inGame() && !fresh.dataset.room && status !== 404) return false;
  const opens = fresh.querySelector("#private-link");
  if (fresh.dataset.room === inGame()) {
    if (later(main().dataset.mark, fresh.dataset.mark)) return true;
    keep(fresh);
  }
  const focused = main().contains(document.activeElement);
  Idiomorph.morph(main(), fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: document.activeElement?.matches("input"), // of a button that has the focus it would keep the old words
    callbacks: {
      // What somebody has folded open stays open, and what they have begun to type stays there.
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details:not(#resign)") && !opens) && !(name === "value" && node.id === "typed"),
    },
  });
  document.title = main().dataset.title;
  if (focused && !main().contains(document.activeElement)) refocus();
  if (before !== undefined && main().dataset.version !== before) {
    // Whoever has just placed a block need not be told at once that it is used.
    document.querySelector(".blocks")?.classList.add("hushed");
    tock();
  }
  follow();
  return true;
}

// The button that had the focus is gone: whoever plays with the keyboard goes on where there is something to answer.
function refocus() {
  main().tabIndex = -1;
  (document.querySelector(".offer button, .after button") ?? main()).focus({ preventScroll: true });
}

let asking = false;
let newest = null;
let late = 0;

async function refresh() {
  if (!inGame() || asking) return;
  clearTimeout(late);
  late = 0;
  const wanted = newest;
  asking = true;
  try {
    const answer = await fetch(seeing(`${inGame()}/table`), { headers: { "X-Fragment": "1" }, cache: "no-store", signal: AbortSignal.timeout(10000) });
    if (!answer.ok && answer.status !== 404) throw new Error(answer.status);
    const html = await answer.text();
    // The same state again would only take away what was said about the last move.
    if (!answer.ok || !html.includes(`data-mark="${main().dataset.mark}"`)) show(html, answer.status);
    untell(LOST, BEHIND);
  } catch (wrong) {
    tell(wrong instanceof TypeError ? LOST : BEHIND); // fetch throws one where nobody answers at all
    late = setTimeout(refresh, 2000);
  } finally {
    asking = false;
  }
  // What happened while the answer was on its way is asked for as well.
  if (!late && newest !== wanted && later(newest, main().dataset.mark)) refresh();
}

// Sending forms ------------------------------------------------------------------------------------------------

function trouble(status) {
  if (status === 429) return "That was very quick. Please wait a moment, then try again.";
  if (status >= 500) return "The server cannot do that just now. Your game is safe; please try again in a moment.";
  return "That did not work. Your game is safe; please load this page again.";
}

async function send(form, submitter) {
  if (form.getAttribute("aria-busy") === "true") return;
  if (!source) attend();
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(seeing(form.getAttribute("action")), {
      method: "POST",
      headers: { "X-Fragment": "1" },
      body: new URLSearchParams(new FormData(form, submitter)),
    });
    const typed = answer.ok && form.querySelector("#typed");
    if (typed) typed.value = "";
    tell(show(await answer.text(), answer.status) ? "" : trouble(answer.status));
  } catch {
    tell(navigator.onLine ? "That did not arrive. Your game is safe; please try again." : "You are offline. Your game is safe; go on when you are back.");
  } finally {
    form.removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "theme") {
    event.preventDefault();
    recolour(form.querySelector("button"));
    return;
  }
  if (!form.matches("[data-live]")) return;
  event.preventDefault();
  const button = event.submitter;
  if (button?.getAttribute("aria-disabled") === "true") {
    refuse(button);
    return;
  }
  send(form, button);
});

function refuse(button) {
  const why = document.getElementById(button.getAttribute("aria-describedby"));
  let notice = document.querySelector(".notice");
  if (!notice) {
    notice = document.createElement("p");
    notice.className = "notice refused";
    notice.setAttribute("role", "alert");
    document.getElementById("status").after(notice);
  }
  notice.textContent = why ? why.textContent : "";
}

// Following the game -------------------------------------------------------------------------------------------

// A browser holds six connections to a server, for all its tabs together, and a stream takes one as long as it lasts.
// So only tabs that are seen listen to one, and of these the last few; the others look now and then.
const STREAMS = 3;
const tab = Math.random();
const tabs = new BroadcastChannel("streams");
const newer = new Set(); // tabs that have begun to listen after this one
let source = null;
let followed = null;
let again = 0;
let looking = 0;

function follow() {
  const room = inGame();
  if (room === followed) return;
  followed = room;
  newest = null;
  attend();
}

function attend() {
  if (document.hidden) look();
  else listen();
}

function wake() {
  attend();
  refresh();
}

function leave() {
  clearTimeout(again);
  clearInterval(looking);
  source?.close();
  source = null;
}

function look() {
  leave();
  if (followed) looking = setInterval(refresh, document.hidden ? 15000 : 3000);
}

function listen() {
  leave();
  if (!followed) return;
  newer.clear();
  tabs.postMessage(tab);
  const stream = new EventSource(seeing(`${followed}/events`));
  source = stream;
  stream.addEventListener("state", (event) => {
    tell("");
    newest = event.lastEventId;
    if (later(newest, main().dataset.mark)) refresh();
  });
  stream.onerror = () => {
    setTimeout(() => { if (stream === source && stream.readyState !== EventSource.OPEN) tell(LOST); }, 1500);
    // A browser tries again by itself, unless it was answered with something else than a stream. Perhaps there is no
    // such room any more: that is seen first.
    if (stream.readyState === EventSource.CLOSED) again = setTimeout(async () => { await refresh(); if (stream === source) listen(); }, 3000);
  };
}

tabs.onmessage = (event) => {
  newer.add(event.data);
  if (source && newer.size >= STREAMS) look();
};

document.addEventListener("visibilitychange", wake);
addEventListener("focus", () => { if (!source) wake(); });
addEventListener("online", wake);
addEventListener("pageshow", (event) => { if (event.persisted) wake(); });
addEventListener("pagehide", leave);

for (const kind of ["mousemove", "keydown"]) {
  document.addEventListener(kind, () => document.querySelector(".hushed")?.classList.remove("hushed"));
}

// Arrows from block to block --------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const block = event.target.closest?.("button.block");
  if (!block || !event.key.startsWith("Arrow")) return;
  const all = [...block.form.querySelectorAll("button.block")];
  const row = all.filter((each) => each.offsetTop === all[0].offsetTop).length;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row }[event.key];
  const next = all[all.indexOf(block) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
});

// Typing a number anywhere ---------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const typed = document.getElementById("typed");
  if (!typed || event.ctrlKey || event.metaKey || event.altKey || !/^[0-9]$/.test(event.key)) return;
  if (event.target.closest("input, textarea, select")) return;
  typed.focus();
});

// Dragging a block onto the tower ----------------------------------------------------------------------------------

let drag = null;

document.addEventListener("pointerdown", (event) => {
  const block = event.target.closest?.("button.block:not([aria-disabled])");
  if (block && event.button === 0) drag = { block, x: event.clientX, y: event.clientY, id: event.pointerId, ghost: null };
});

document.addEventListener("pointermove", (event) => {
  if (!drag || event.pointerId !== drag.id) return;
  if (!drag.ghost) {
    if (Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < 8) return;
    const box = drag.block.getBoundingClientRect();
    drag.ghost = drag.block.cloneNode(true);
    drag.ghost.removeAttribute("id");
    drag.ghost.classList.add("ghost");
    drag.ghost.style.width = `${box.width}px`;
    drag.dx = drag.x - box.left;
    drag.dy = drag.y - box.top;
    document.body.append(drag.ghost);
    drag.block.classList.add("lifted");
  }
  drag.ghost.style.transform = `translate(${event.clientX - drag.dx}px, ${event.clientY - drag.dy}px)`;
  document.getElementById("board")?.classList.toggle("over-it", overBoard(event));
});

function overBoard(event) {
  const box = document.getElementById("board")?.getBoundingClientRect();
  return !!box && event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
}

function drop(event, placed) {
  if (!drag || event.pointerId !== drag.id) return;
  const { block, ghost } = drag;
  drag = null;
  if (!ghost) return;
  ghost.remove();
  block.classList.remove("lifted");
  document.getElementById("board")?.classList.remove("over-it");
  // The click that ends a drag is no click.
  addEventListener("click", (click) => { click.preventDefault(); click.stopPropagation(); }, { capture: true, once: true, signal: AbortSignal.timeout(50) });
  if (placed && overBoard(event) && block.isConnected) send(block.form, block);
}

document.addEventListener("pointerup", (event) => drop(event, true));
document.addEventListener("pointercancel", (event) => drop(event, false));

// Copy, share, colours, sound --------------------------------------------------------------------------------------

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  const share = event.target.closest("[data-share]");
  if (copy) {
    const field = document.getElementById(copy.dataset.copy);
    field.select();
    try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
    const word = copy.querySelector("span");
    word.textContent = "Copied";
    if (!connection.textContent) tell(COPIED);
    setTimeout(() => { word.textContent = "Copy"; untell(COPIED); }, 3000);
  }
  if (share) {
    const url = document.getElementById(share.dataset.share).value;
    navigator.share({ title: "Number Tower", url }).catch(() => {});
  }
});

document.addEventListener("focusin", (event) => { if (event.target.matches?.("[readonly]")) event.target.select(); });

const NEXT = { auto: "light", light: "dark", dark: "auto" };

function recolour(button) {
  const theme = button.value;
  root.dataset.theme = theme;
  button.value = NEXT[theme];
  button.setAttribute("aria-label", `Colours: ${theme}. Change to ${NEXT[theme]}`);
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `theme=${theme}; path=/; max-age=31536000; samesite=lax${secure}`;
}

const sound = document.getElementById("sound");
let hearing = false;
let audio = null;

try { hearing = localStorage.getItem("sound") === "on"; } catch { /* without storage it is off */ }
sound.hidden = !window.AudioContext;
sound.setAttribute("aria-pressed", hearing);
sound.addEventListener("click", () => {
  hearing = !hearing;
  sound.setAttribute("aria-pressed", hearing);
  try { localStorage.setItem("sound", hearing ? "on" : "off"); } catch { /* it is on for this page */ }
  tock();
});

function tock() {
  if (!hearing) return;
  audio ??= new AudioContext();
  const now = audio.currentTime;
  const tone = audio.createOscillator();
  const volume = audio.createGain();
  tone.type = "triangle";
  tone.frequency.setValueAtTime(320, now);
  tone.frequency.exponentialRampToValueAtTime(140, now + 0.09);
  volume.gain.setValueAtTime(0.25, now);
  volume.gain.exponentialRampToValueAtTime(0.001, now + 0.14);
  tone.connect(volume).connect(audio.destination);
  tone.start(now);
  tone.stop(now + 0.15);
}

follow();
