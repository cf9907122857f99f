// What the pages do beyond links and forms: run a statement by Ctrl-Enter, and stop it.
"use strict";
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.id === "q") {
    e.target.form.requestSubmit();
  }
});
const stop = () => document.getElementById("stop");
document.addEventListener("click", (e) => {
  if (e.target.id === "stop") {
    htmx.trigger("#query", "htmx:abort");
  }
});
document.addEventListener("htmx:beforeRequest", () => { if (stop()) stop().disabled = false; });
document.addEventListener("htmx:afterRequest", () => { if (stop()) stop().disabled = true; });
// An answer with an error is shown as any other.
document.addEventListener("htmx:beforeSwap", (e) => {
  e.detail.shouldSwap = true;
  e.detail.isError = false;
});
