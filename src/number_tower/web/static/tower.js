// Number Tower in the browser. Every page works without this; with it, pages follow the game by themselves.
// Forms marked data-live are sent in the background, and the answer is morphed into the page.

const root = document.documentElement;
const connection = document.getElementById("connection");
const LOST = "Connection lost; trying again…";
const main = () => document.getElementById("main");
const inGame = () => main().dataset.room;

root.classList.add("js");
if (navigator.share && matchMedia("(pointer: coarse)").matches) root.classList.add("can-share");

function tell(text) {
  if (connection.textContent !== text) connection.textContent = text;
}

// Showing what the server answers ------------------------------------------------------------------------------

// Marks such as 1.4.2 only grow: answers may overtake each other, and an earlier state never follows a later one.
function later(mark, than) {
  const [one, other] = [mark, than].map((each) => (each ?? "").split(".").map(Number));
  const place = one.findIndex((part, index) => part !== other[index]);
  return place >= 0 && one[place] > (other[place] ?? -1);
}

function show(html) {
  const before = main().dataset.version;
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("main");
  if (!fresh) return false;
  if (fresh.dataset.room === inGame() && later(main().dataset.mark, fresh.dataset.mark)) return true;
  Idiomorph.morph(main(), fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: document.activeElement?.matches("input"), // of a button that has the focus it would keep the old words
    callbacks: {
      // What somebody has folded open stays open.
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details:not(#resign)") && !fresh.querySelector("#private-link")),
    },
  });
  document.title = main().dataset.title;
  if (before !== undefined && main().dataset.version !== before) {
    const typed = document.getElementById("typed");
    if (typed) typed.value = "";
    // Whoever has just placed a block need not be told at once that it is used.
    document.querySelector(".blocks")?.classList.add("hushed");
    tock();
  }
  follow();
  return true;
}

let asking = false;
let newest = null;

async function refresh() {
  if (!inGame() || asking) return;
  const wanted = newest;
  asking = true;
  try {
    const answer = await fetch(`${inGame()}/table`, { headers: { "X-Fragment": "1" }, cache: "no-store" });
    if (answer.ok || answer.status === 404) show(await answer.text());
  } catch {
    tell(LOST);
  } finally {
    asking = false;
  }
  // What happened while the answer was on its way is asked for as well.
  if (newest !== wanted && later(newest, main().dataset.mark)) refresh();
}

// Sending forms ------------------------------------------------------------------------------------------------

async function send(form, submitter) {
  if (form.getAttribute("aria-busy") === "true") return;
  form.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { "X-Fragment": "1" },
      body: new URLSearchParams(new FormData(form, submitter)),
    });
    const shown = show(await answer.text());
    if (answer.status === 429) tell("That was very quick. Please wait a moment, then try again.");
    else if (answer.status >= 500 && !document.querySelector(".notice")) tell("The server cannot do that just now. Your game is safe; please try again in a moment.");
    else if (!shown) tell("That did not work. Please try again.");
    else tell("");
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

let source = null;
let followed = null;
let again = 0;

function follow() {
  const room = inGame();
  if (room === followed) return;
  source?.close();
  followed = room;
  if (room) listen();
}

function listen() {
  clearTimeout(again);
  source = new EventSource(`${followed}/events`);
  source.addEventListener("state", (event) => {
    tell("");
    newest = event.lastEventId;
    if (later(newest, main().dataset.mark)) refresh();
  });
  source.onerror = () => {
    setTimeout(() => { if (source.readyState !== EventSource.OPEN) tell(LOST); }, 1500);
    // A browser tries again by itself, unless it was answered with something else than a stream.
    if (source.readyState === EventSource.CLOSED) again = setTimeout(listen, 3000);
  };
}

addEventListener("online", () => { if (followed) { source.close(); listen(); } });
addEventListener("pageshow", (event) => { if (event.persisted) { followed = null; follow(); refresh(); } });
addEventListener("pagehide", () => source?.close());

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
    setTimeout(() => { word.textContent = "Copy"; }, 2000);
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
