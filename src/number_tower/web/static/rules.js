// The form for your own rules: it is checked while it is filled in, and then the solver is asked about it.

const CHECK_DELAY = 350; // milliseconds after the last key
const SOLVE_DELAY = 500;
const RETRY_DELAY = 3000;

const getForm = () => document.getElementById("rule-form");
const getVerdict = () => document.getElementById("verdict");
const parse = (/** @type {string} */ html) => new DOMParser().parseFromString(html, "text/html");

let edits = 0; // an answer to an earlier form never replaces what was typed since
let timer = 0;
/** @type {AbortController?} */
let asking = null;
let openingsShown = false;

/** @param {number} delay */
function schedule(delay) {
  clearTimeout(timer);
  timer = setTimeout(check, delay);
}

/** @param {string} text */
function report(text) {
  const status = document.getElementById("rule-status");
  if (status && status.textContent !== text) status.textContent = text;
}

async function check() {
  const sent = edits;
  try {
    const answer = await fetch("/rules/live", {
      method: "POST",
      headers: { "X-Fragment": "1" },
      body: new URLSearchParams(/** @type {any} */ (new FormData(getForm()))),
    });
    if (answer.status === 413) return report("The rule file is too long. At most 16 KiB fit here.");
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = parse(await answer.text()).getElementById("main");
    if (sent === edits && fresh?.querySelector("#rule-form")) show(fresh);
  } catch (error) {
    if (sent !== edits) return;
    report(error instanceof TypeError ? "Connection lost. Trying again…" : "The server is busy. Trying again…");
    schedule(RETRY_DELAY);
  }
}

/** @param {HTMLElement} fresh */
function show(fresh) {
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  // The same rules have the same verdict: nothing flickers while a name is typed.
  const [old, pending] = [getVerdict(), fresh.querySelector("#verdict")];
  const same = old && pending && old.dataset.url === pending.dataset.url;
  if (same) pending.replaceWith(old.cloneNode(true));
  addShortVerdict(fresh);
  Idiomorph.morph(main, fresh, {
    morphStyle: "outerHTML",
    ignoreActiveValue: document.activeElement?.matches("input"), // but the text may have got a field's change
    callbacks: { beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details")) },
  });
  if (!same || getVerdict()?.querySelector("[data-pending]")) askSolver(SOLVE_DELAY);
}

// The bar below says in short what the verdict says: on a phone the verdict is far down.
/** @param {ParentNode} page */
function addShortVerdict(page) {
  const short = page.querySelector("#verdict")?.dataset.short;
  const status = page.querySelector("#rule-status");
  if (!short || !status || status.querySelector("span")) return;
  status.append(Object.assign(document.createElement("span"), { textContent: ` ${short}` }));
}

/** @param {number} delay */
function askSolver(delay) {
  asking?.abort();
  const question = new AbortController();
  asking = question;
  setTimeout(async () => {
    const verdict = getVerdict();
    if (question.signal.aborted || !verdict?.querySelector("[data-pending]")) return;
    const { url } = verdict.dataset;
    try {
      const answer = await fetch(url, { headers: { "X-Fragment": "1" }, signal: question.signal });
      if (answer.status === 429 || answer.status === 503) throw new Error(answer.statusText);
      const fresh = parse(await answer.text()).getElementById("verdict");
      if (!fresh || getVerdict()?.dataset.url !== url) return;
      fresh.dataset.url = url;
      const details = fresh.querySelector("#openings");
      if (details) details.open = openingsShown;
      getVerdict()?.replaceWith(fresh);
      addShortVerdict(document);
    } catch {
      if (!question.signal.aborted) askSolver(RETRY_DELAY);
    }
  }, delay);
}

document.addEventListener("input", (event) => {
  if (event.target.form !== getForm()) return;
  edits += 1;
  schedule(event.target.matches("[type=radio]") ? 0 : CHECK_DELAY);
});

// Some browsers look for a button that is shown, and would play.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.target.form !== getForm() || !event.target.matches("input")) return;
  event.preventDefault();
  schedule(0);
});

document.addEventListener("toggle", (event) => {
  if (event.target.id === "openings") openingsShown = event.target.open;
}, true);

document.addEventListener("submit", (event) => {
  if (event.target !== getForm() || ["play", "save"].includes(event.submitter?.value ?? "")) return;
  event.preventDefault();
  schedule(0);
});
