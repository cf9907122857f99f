// What the pages do beyond links and forms: the frame, cells beside their grid, and on the
// page for statements running, stopping and a history.
"use strict";
const get = (id) => document.getElementById(id);
const make = (name, properties, ...children) => { const e = Object.assign(document.createElement(name), properties); e.append(...children); return e; };

// The statement under the caret: statements end with ; at the end of a line, or at an empty line.
const statementAt = (text, caret) => {
  let begin = 0;
  for (const end of [...text.matchAll(/;[ \t]*(?:\n|$)|\n[ \t]*\n/g)].map((m) => m.index + m[0].length)) {
    if (end > caret && text.slice(begin, end).trim()) return text.slice(begin, end);
    if (end <= caret && text.slice(end).trim()) begin = end;
  }
  return text.slice(begin);
};
const stop = () => document.getElementById("stop");
document.addEventListener("click", (e) => {
  if (e.target.id === "stop") {
    htmx.trigger("#query", "htmx:abort");
  }
});
const runs = (e) => e.detail.elt.closest && e.detail.elt.closest("#query, #result");
document.addEventListener("htmx:beforeRequest", (e) => { if (stop() && runs(e)) stop().disabled = false; });
document.addEventListener("htmx:afterRequest", (e) => { if (stop() && runs(e)) stop().disabled = true; });
document.addEventListener("htmx:configRequest", (e) => {
  const q = get("q");
  if (!q || e.detail.elt.id !== "query") return;
  const text = statementAt(q.value, q.selectionEnd).trim().replace(/;$/, "");
  if (text) e.detail.parameters.set("q", text);
});
const failure = (text) => { const said = make("p", { className: "failure unsent", textContent: text }); said.setAttribute("role", "alert"); return said; };
const healthIs = (text) => { const health = document.querySelector("#frame [hx-get='/health']"); if (health) health.replaceChildren(make("span", { className: "ill", textContent: text })); };

// A form is sent when the server answers and takes the person's token. Until then it stays as
// it was filled in; a page that was left for an error or for the form of a token would lose it.
(() => {
  const dialog = get("sign-in"), ready = new WeakSet(), asking = new WeakSet();
  const ask = (path, init) => fetch(path, { headers: { "HX-Request": "true" }, redirect: "manual", cache: "no-store", ...init }).catch(() => null);
  const saidIn = async (answer) => new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".failure span, .failure")?.textContent || "The server answers " + answer.status;
  // signIn asks for a token; it gives false if somebody has none now.
  let open = null;
  const signIn = (why) => open ||= new Promise((done) => {
    const form = dialog.querySelector("form"), said = get("sign-in-why"), before = document.activeElement;
    const end = (signed) => { open = null; form.onsubmit = dialog.onclose = null; form.reset(); dialog.close(); if (before && before.isConnected) before.focus(); done(signed); };
    said.textContent = why;
    said.className = "failure";
    said.setAttribute("role", "alert");
    form.onsubmit = async (e) => {
      e.preventDefault();
      const answer = await ask("/login", { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (answer && answer.type === "opaqueredirect") return end(true);
      said.textContent = answer ? await saidIn(answer) : "The server does not answer. Try again when it runs.";
    };
    form.querySelector(".close").onclick = () => end(false);
    dialog.onclose = () => end(false); // by Escape
    dialog.showModal();
  });
  const admitted = async () => {
    for (;;) {
      const answer = await ask("/admitted");
      if (!answer) return "The server does not answer, and nothing was sent. Try again when it runs; the page keeps what you typed.";
      const token = answer.headers.get("Form-Token");
      if (token) document.querySelectorAll("input[name=form]").forEach((i) => { i.value = token; });
      if (answer.status !== 401) return ""; // the server says itself what else is wrong
      if (!await signIn(await saidIn(answer))) return "Nothing was sent: the server wants a token.";
    }
  };
  document.addEventListener("submit", async (e) => {
    const form = e.target, by = e.submitter;
    if (form.method !== "post" || form.closest("#sign-in") || form.matches("[action='/login'], [action='/logout']") || ready.delete(form)) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    if (asking.has(form)) return;
    asking.add(form);
    document.querySelectorAll(".unsent").forEach((p) => p.remove());
    const why = await admitted();
    asking.delete(form);
    if (!form.isConnected) return;
    if (why) { const said = failure(why); form.after(said); said.scrollIntoView({ block: "nearest" }); return; }
    ready.add(form);
    if (by && by.isConnected) by.click(); else form.requestSubmit();
    ready.delete(form); // a field that is wrong kept it from being sent
  }, true);
  // An answer with an error is shown as any other; that a token is wanted is asked first, but for what runs by itself.
  document.addEventListener("htmx:beforeSwap", (e) => {
    const d = e.detail, { elt, verb } = d.requestConfig;
    d.shouldSwap = true;
    d.isError = false;
    if (d.xhr.status !== 401) return;
    if (elt.matches("[hx-get='/health']")) { d.shouldSwap = false; healthIs("no token"); }
    if (elt.hasAttribute("hx-get") || verb !== "get") return;
    d.shouldSwap = false;
    signIn(new DOMParser().parseFromString(d.xhr.responseText, "text/html").querySelector(".failure span").textContent).then((signed) => {
      if (signed && d.target.id === "side") htmx.ajax("GET", d.pathInfo.requestPath, { target: d.target, swap: "innerHTML" }).catch(() => {});
    });
  });
})();
// A server that does not answer is said where its answer would stand; a form there stays.
document.addEventListener("htmx:sendError", (e) => {
  const at = e.detail.target;
  healthIs("no answer");
  if (!at || !["result", "side", "outcome"].includes(at.id)) return;
  const said = failure(e.detail.requestConfig.verb === "get" ? "The server does not answer. Try again when it runs."
    : "The connection ended before the answer came, so whether all of it was done is unknown. Look before you send it again.");
  if (at.querySelector("form, [name=q]")) at.prepend(said); else at.replaceChildren(said);
  if (at.id === "side" && !at.querySelector(".close")) at.prepend(make("button", { type: "button", className: "plain close", textContent: "Close" }));
  at.hidden = false;
});
// The focus goes to what an answer says, where it would be lost with the button, and on pages that answer a form.
const seek = (place) => {
  const at = [".question", "form[action$='/change'] pre", "textarea:not(#import-q)", ".failure, .done", "h2, pre, .wide, .note"].map((s) => place.querySelector(s)).find((e) => e);
  if (!at) return;
  if (at.tabIndex < 0) at.tabIndex = -1;
  at.focus();
};
if (document.querySelector("main[data-sent] :is(.failure, .question, .done)")) seek(document.querySelector("main"));
document.addEventListener("htmx:afterSwap", (e) => { if (["result", "outcome"].includes(e.detail.target.id) && document.activeElement === document.body) seek(e.detail.target); });
// Escape closes the menu of a narrow window.
document.addEventListener("keydown", (e) => { if (e.key === "Escape" && location.hash === "#frame" && !document.querySelector("dialog[open]")) location.hash = "content"; });
// How much of a file was sent.
document.addEventListener("htmx:xhr:progress", (e) => {
  const sent = get("sent");
  if (!sent || !e.detail.lengthComputable) return;
  Object.assign(sent, { max: e.detail.total, value: e.detail.loaded, hidden: e.detail.loaded === e.detail.total });
});

// The frame: a filter for the tables.
(() => {
  const filter = get("frame-filter");
  if (!filter) return;
  filter.hidden = false;
  filter.addEventListener("input", () => {
    for (const item of document.querySelectorAll("#frame .tables li")) item.hidden = !item.textContent.toLowerCase().includes(filter.value.toLowerCase());
  });
})();

// Ctrl-K goes to a page, a table, a row by its key, or to a statement.
(() => {
  const dialog = get("jump"), to = get("jump-to"), list = get("jump-list"), open = get("jump-open"), frame = get("frame");
  if (!frame || !dialog.showModal) return;
  const here = decodeURIComponent((location.pathname.match(/^\/tables\/([^/]+)/) || ["", ""])[1]);
  const places = [...frame.querySelectorAll("li a")].map((a) => ({ name: a.textContent, kind: a.closest(".tables") ? "table or view" : "page", href: a.getAttribute("href") }));
  let chosen = 0;
  const row = (table, key) => ({ name: key, kind: "row of " + table, href: "/tables/" + encodeURIComponent(table) + "/row?" + new URLSearchParams({ key }) });
  const show = () => {
    const text = to.value.trim();
    const found = places.filter((p) => p.name.toLowerCase().includes(text.toLowerCase())).slice(0, 30);
    const [first, ...rest] = text.split(/\s+/);
    if (text) {
      if (rest.length && places.some((p) => p.name === first && p.href.startsWith("/tables/"))) found.push(row(first, rest.join(" ")));
      else if (here) found.push(row(here, text));
      for (const p of places) if (p.href.startsWith("/tables/") && p.kind !== "page" && p.name !== here && !rest.length && found.length < 40) found.push(row(p.name, text));
      found.push({ name: text, kind: "statement", href: "/query?" + new URLSearchParams({ q: text }) });
    }
    list.replaceChildren(...found.map((p, i) => { const item = make("li", { id: "place" + i, dir: "ltr" }, p.name, make("small", { textContent: p.kind })); item.setAttribute("role", "option"); item.dataset.href = p.href; return item; }));
    choose(0);
  };
  const choose = (i) => {
    const all = list.children;
    if (!all.length) return to.removeAttribute("aria-activedescendant");
    chosen = (i + all.length) % all.length;
    for (let k = 0; k < all.length; k++) all[k].setAttribute("aria-selected", String(k === chosen));
    all[chosen].scrollIntoView({ block: "nearest" });
    to.setAttribute("aria-activedescendant", all[chosen].id);
  };
  const start = () => { to.value = ""; show(); dialog.showModal(); to.focus(); };
  open.hidden = false;
  open.addEventListener("click", start);
  document.addEventListener("keydown", (e) => { if (e.key === "k" && (e.ctrlKey || e.metaKey) && !e.shiftKey) { e.preventDefault(); start(); } });
  to.addEventListener("input", show);
  to.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); choose(chosen + (e.key === "ArrowDown" ? 1 : -1)); }
    else if (e.key === "Enter" && list.children[chosen]) { e.preventDefault(); location.href = list.children[chosen].dataset.href; }
  });
  list.addEventListener("click", (e) => { const item = e.target.closest("li"); if (item) location.href = item.dataset.href; });
})();

// A cell opens beside its grid, and so do the forms that change it. After a change the
// rows are fetched again, and one is where one was.
(() => {
  const side = get("side");
  if (!side) return;
  let from = null;
  const open = (href, link) => {
    if (link && link.closest("table")) { from = link; document.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen")); link.closest("td, th").classList.add("chosen"); }
    if (side.hidden) history.pushState({ side: true }, ""); // so that Back closes the cell, and does not leave the page
    htmx.ajax("GET", href, { target: "#side", swap: "innerHTML" }).catch(() => {}); // sendError says it
  };
  if (history.state && history.state.side) history.replaceState(null, ""); // the page was loaded again
  window.addEventListener("popstate", () => { if (!side.hidden) close(); });
  const leave = () => { close(); if (history.state && history.state.side) history.back(); };
  const close = () => { side.hidden = true; side.replaceChildren(); document.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen")); if (from && from.isConnected) from.focus(); };
  document.addEventListener("click", (e) => {
    const link = e.target.closest("a.cell, a.aside");
    if (link && !e.ctrlKey && !e.metaKey && !e.shiftKey && e.button === 0 && (link.closest("#rows, #side") || link.classList.contains("aside"))) { e.preventDefault(); open(link.getAttribute("href"), link); }
    if (e.target.closest("#side .close")) leave();
  });
  document.addEventListener("keydown", (e) => { if (e.key === "Escape" && !side.hidden && !document.querySelector("dialog[open]")) leave(); });
  const again = async () => {
    const sheet = document.querySelector("#rows .sheet");
    const at = sheet ? [sheet.scrollTop, sheet.scrollLeft] : [0, 0];
    const href = from && from.getAttribute("href");
    try { await htmx.ajax("GET", location.href, { target: "#rows", select: "#rows", swap: "outerHTML" }); } catch { return; }
    const now = document.querySelector("#rows .sheet");
    if (now) { now.scrollTop = at[0]; now.scrollLeft = at[1]; }
    const same = href && [...document.querySelectorAll("#rows a.cell")].find((a) => a.getAttribute("href") === href);
    if (same) { from = same; same.closest("td, th").classList.add("chosen"); }
  };
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.detail.target !== side) return;
    side.hidden = false;
    side.prepend(make("button", { type: "button", className: "plain close", textContent: "Close" }));
    side.scrollTop = 0;
    if (side.querySelector("[data-changed]")) again();
    seek(side);
  });
})();

// A grid is one stop of Tab; the arrow keys, Home and End go through its keys and cells.
(() => {
  const links = (grid) => [...grid.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.querySelector("a")));
  const one = (grid, chosen) => { for (const a of grid.tBodies[0].querySelectorAll("a")) a.tabIndex = a === chosen ? 0 : -1; };
  const prepare = () => document.querySelectorAll("table.grid:not(.lines)").forEach((grid) => { if (!grid.tBodies[0].querySelector("a[tabindex='0']")) one(grid, grid.tBodies[0].querySelector("a")); });
  document.addEventListener("focusin", (e) => { const grid = e.target.matches("table.grid:not(.lines) tbody a") && e.target.closest("table"); if (grid) one(grid, e.target); });
  document.addEventListener("keydown", (e) => {
    const grid = e.target.matches("table.grid:not(.lines) tbody a") && e.target.closest("table");
    if (!grid || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = links(grid), y = e.target.closest("tr").sectionRowIndex, x = e.target.closest("th, td").cellIndex;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-x, 0], End: [all[y].length - 1 - x, 0] }[e.key] || [0, 0];
    if (!dx && !dy) return;
    e.preventDefault();
    // Empty fields are passed over; a row of them is left at its key.
    const row = all[y + dy], step = dy ? -1 : Math.sign(dx) * (Math.abs(dx) > 1 ? -1 : 1);
    let to = x + dx;
    while (row && row[to] === null) to += step;
    if (row && row[to]) { row[to].focus(); row[to].scrollIntoView({ block: "nearest", inline: "nearest" }); }
  });
  prepare();
  document.addEventListener("htmx:afterSwap", prepare);
})();

// The form of a table: further conditions, and copies of the statement.
(() => {
  const another = get("another"), conditions = get("conditions");
  if (another) {
    another.hidden = false;
    another.addEventListener("click", () => {
      if (conditions.children.length >= 10) return;
      const next = conditions.lastElementChild.cloneNode(true);
      next.querySelectorAll("input").forEach((i) => { i.value = ""; });
      conditions.append(next);
      next.querySelector("input").focus();
    });
  }
  const show = () => document.querySelectorAll(".copying").forEach((b) => { b.hidden = false; });
  show();
  document.addEventListener("htmx:afterSwap", show);
  document.addEventListener("click", async (e) => {
    const button = e.target.closest(".copying");
    if (!button) return;
    const before = button.innerHTML;
    try {
      await navigator.clipboard.writeText(button.parentElement.nextElementSibling.textContent);
      button.textContent = "Copied";
    } catch { button.textContent = "The browser does not let pages copy"; }
    setTimeout(() => { button.innerHTML = before; }, 1500);
  });
})();

// The columns of a table's grid have the widths that somebody gave them, in this browser.
(() => {
  const name = "smolwc.widths." + decodeURIComponent((location.pathname.match(/^\/tables\/([^/]+)$/) || ["", ""])[1]);
  if (!location.pathname.match(/^\/tables\/[^/]+$/)) return;
  const load = () => { try { return JSON.parse(localStorage.getItem(name)) || {}; } catch { return {}; } };
  const least = 48, most = 1600;
  const heads = (grid) => [grid.tHead.rows[0].cells[0], ...grid.tHead.rows[1].cells];
  const widen = (grid, i, px) => {
    const set = (cell) => { if (cell) for (const side of ["minWidth", "maxWidth", "width"]) cell.style[side] = px ? px + "px" : ""; };
    set(heads(grid)[i]);
    for (const row of grid.tBodies[0].rows) set(row.cells[i]);
  };
  const keep = (column, px) => {
    const all = load();
    delete all[column];
    if (px) all[column] = px; // the last one is the newest
    const kept = Object.entries(all).slice(-200);
    try { localStorage.setItem(name, JSON.stringify(Object.fromEntries(kept))); } catch { /* the browser keeps nothing */ }
  };
  const prepare = () => {
    const grid = document.querySelector("#rows table.grid");
    if (!grid || grid.querySelector(".grip")) return;
    const known = load();
    heads(grid).forEach((th, i) => {
      const column = th.dataset.column || "";
      if (known[column] >= least && known[column] <= most) widen(grid, i, known[column]);
      const now = () => Math.round(th.getBoundingClientRect().width);
      const grip = make("span", { className: "grip", tabIndex: i ? -1 : 0, title: "Drag to change the width; a double click takes the change back" });
      grip.setAttribute("role", "separator");
      grip.setAttribute("aria-orientation", "vertical");
      grip.setAttribute("aria-label", "Width of " + th.textContent);
      grip.setAttribute("aria-valuemin", least);
      grip.setAttribute("aria-valuemax", most);
      const say = () => grip.setAttribute("aria-valuenow", now());
      const set = (px) => { px = px && Math.min(most, Math.max(least, Math.round(px))); widen(grid, i, px); keep(column, px); say(); };
      let from = null;
      grip.addEventListener("pointerdown", (e) => { from = { x: e.clientX, px: now() }; grip.setPointerCapture(e.pointerId); e.preventDefault(); });
      grip.addEventListener("pointermove", (e) => { if (from) widen(grid, i, Math.min(most, Math.max(least, from.px + e.clientX - from.x))); });
      grip.addEventListener("pointerup", (e) => { if (from && e.clientX !== from.x) set(from.px + e.clientX - from.x); from = null; });
      grip.addEventListener("pointercancel", () => { if (from) widen(grid, i, load()[column] || 0); from = null; });
      grip.addEventListener("dblclick", () => set(0));
      grip.addEventListener("keydown", (e) => {
        if (e.key === "ArrowLeft" || e.key === "ArrowRight") { e.preventDefault(); set(now() + (e.key === "ArrowRight" ? 16 : -16)); }
        if (e.key === "Home") { e.preventDefault(); set(0); }
        const next = { ArrowUp: i - 1, ArrowDown: i + 1 }[e.key], to = next !== undefined && heads(grid)[next];
        if (to) { e.preventDefault(); to.querySelector(".grip").focus(); }
      });
      th.append(grip);
      say();
    });
  };
  prepare();
  document.addEventListener("htmx:afterSwap", prepare);
})();

// A result that is whole is sorted by the head of a column.
(() => {
  const heads = (table) => {
    for (const th of table.tHead.rows[0].cells) {
      if (th.querySelector("button")) continue;
      const name = th.textContent;
      th.replaceChildren(make("button", { type: "button", textContent: name }));
    }
  };
  document.addEventListener("htmx:afterSwap", () => document.querySelectorAll("table[data-whole]").forEach(heads));
  document.querySelectorAll("table[data-whole]").forEach(heads);
  document.addEventListener("click", (e) => {
    const th = e.target.closest("table[data-whole] th"), table = th && th.closest("table");
    if (!th) return;
    const down = th.getAttribute("aria-sort") === "ascending", column = th.cellIndex;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => { const cell = row.cells[column]; return cell.querySelector(".null") ? null : cell.classList.contains("num") ? parseFloat(cell.textContent) : cell.textContent; };
    const order = (a, b) => a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1;
    const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
    rows.sort((a, b) => down ? order(b[0], a[0]) : order(a[0], b[0]));
    table.tBodies[0].append(...rows.map((r) => r[1]));
  });
})();

// The history and the saved statements of this browser.
(() => {
  const q = get("q"), kept = get("kept");
  if (!q || !kept) return;
  const most = 30;
  const load = (name) => { try { return JSON.parse(localStorage.getItem("smolwc." + name)) || []; } catch { return []; } };
  const store = (name, all) => { try { localStorage.setItem("smolwc." + name, JSON.stringify(all.slice(0, most))); } catch { /* the browser keeps nothing */ } };
  const list = (name, item) => get(name).replaceChildren(...load(name).map(item));
  const take = (text) => { q.value = text; q.dispatchEvent(new Event("input")); q.focus(); };
  const show = () => {
    list("ran", (text) => make("li", {}, make("button", { type: "button", className: "text", dir: "ltr", title: text, textContent: text, onclick: () => take(text) })));
    list("saved", (s) => make("li", {}, make("button", { type: "button", className: "text", dir: "ltr", title: s.text, textContent: s.name, onclick: () => take(s.text) }),
      make("button", { type: "button", className: "plain", textContent: "Delete", ariaLabel: "Delete " + s.name, onclick: () => { store("saved", load("saved").filter((o) => o.name !== s.name)); show(); } })));
  };
  kept.hidden = false;
  show();
  document.addEventListener("htmx:beforeRequest", (e) => {
    if (e.detail.elt.id !== "query") return;
    const text = e.detail.requestConfig.parameters.get ? e.detail.requestConfig.parameters.get("q") : e.detail.requestConfig.parameters.q;
    if (!text || text.length > 10000) return;
    store("ran", [text, ...load("ran").filter((t) => t !== text)]);
    history.replaceState(null, "", "/query?" + new URLSearchParams({ q: q.value }));
    show();
  });
  get("save").addEventListener("click", () => {
    const name = get("save-as").value.trim() || q.value.trim().slice(0, 60);
    if (!q.value.trim()) return;
    store("saved", [{ name, text: q.value }, ...load("saved").filter((s) => s.name !== name)]);
    show();
  });
  get("save-as").addEventListener("keydown", (e) => { if (e.key === "Enter") get("save").click(); });
  get("forget").addEventListener("click", () => { store("ran", []); show(); });
})();

// The slider of moments and the field beside it show the same moment.
(() => {
  const slider = get("second"), at = get("at");
  if (!slider || !at) return;
  const text = (s) => new Date(s * 1000).toISOString().replace(".000Z", "Z");
  const say = () => slider.setAttribute("aria-valuetext", text(slider.value));
  slider.addEventListener("input", () => { at.value = text(slider.value); say(); });
  slider.addEventListener("keydown", (e) => { // a tenth of the whole is too much for a week
    const far = e.key === "PageUp" ? 60 : e.key === "PageDown" ? -60 : 0;
    if (!far) return;
    e.preventDefault();
    slider.value = Number(slider.value) + (e.shiftKey ? 60 : 1) * far;
    slider.dispatchEvent(new Event("input"));
  });
  at.addEventListener("change", () => { const s = Date.parse(at.value) / 1000; if (s) { slider.value = s; say(); } });
  say();
})();
