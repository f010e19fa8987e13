// Arrow keys go through a game on the analysis page; everything there is a link that works without this.
const KEYS = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last" };

document.addEventListener("keydown", (event) => {
  const step = KEYS[event.key];
  if (!step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, textarea, select, summary, [contenteditable]")) return;
  const link = document.querySelector(`[data-step="${step}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
