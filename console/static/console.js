// What the pages do beyond links and forms: run a statement by Ctrl-Enter, stop it, and
// propose its words.
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

// The words with which a statement may go on.
(() => {
  const q = document.getElementById("q");
  const list = document.getElementById("words");
  if (!q || !list) return;
  const status = document.getElementById("proposed");
  let begin = 0, chosen = -1, timer = 0, asked = null;
  const close = () => { list.hidden = true; list.replaceChildren(); chosen = -1; status.textContent = ""; q.removeAttribute("aria-activedescendant"); };
  const choose = (i) => {
    const all = list.children;
    chosen = (i + all.length) % all.length;
    for (let k = 0; k < all.length; k++) all[k].setAttribute("aria-selected", String(k === chosen));
    all[chosen].scrollIntoView({ block: "nearest" });
    q.setAttribute("aria-activedescendant", all[chosen].id);
  };
  const accept = (i) => {
    q.setRangeText(list.children[i].dataset.word, begin, q.selectionEnd, "end");
    close();
    propose();
  };
  const propose = async () => {
    const text = q.value.slice(0, q.selectionEnd);
    if (asked) asked.abort();
    if (!text.trim() || text.length > 4000 || q.selectionStart !== q.selectionEnd) return close();
    asked = new AbortController();
    try {
      const answer = await fetch("/query/complete?" + new URLSearchParams({ q: text }), { signal: asked.signal, redirect: "error" });
      const found = await answer.json();
      if (q.value.slice(0, q.selectionEnd) !== text) return;
      close();
      const rest = text.slice(found.begin);
      const words = found.words.filter((w) => w.trimEnd() !== rest.trimEnd());
      if (!words.length) return;
      begin = found.begin;
      words.forEach((word, i) => {
        const item = document.createElement("li");
        item.id = "word" + i;
        item.role = "option";
        item.dir = "ltr";
        item.setAttribute("aria-selected", "false");
        item.textContent = word;
        item.dataset.word = word;
        list.append(item);
      });
      list.hidden = false;
      status.textContent = words.length + (found.more ? " or more" : "") + " words";
    } catch (e) { /* a newer question, or no server: there are no proposals */ }
  };
  q.addEventListener("input", () => { close(); clearTimeout(timer); timer = setTimeout(propose, 120); });
  q.addEventListener("blur", () => setTimeout(close, 150));
  q.addEventListener("keydown", (e) => {
    if (e.key === " " && e.ctrlKey) { e.preventDefault(); return propose(); }
    if (list.hidden) return;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); choose(chosen + (e.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1)); }
    else if (e.key === "Tab" && !e.shiftKey) { e.preventDefault(); accept(Math.max(0, chosen)); }
    else if (e.key === "Enter" && !e.ctrlKey && chosen >= 0) { e.preventDefault(); accept(chosen); }
    else if (e.key === "Escape") { e.preventDefault(); close(); }
  });
  list.addEventListener("mousedown", (e) => { if (e.target.dataset.word !== undefined) { e.preventDefault(); accept([...list.children].indexOf(e.target)); q.focus(); } });
  document.addEventListener("htmx:beforeRequest", close);
})();
