// Draws the numbers of a result: bars from zero, lines or points, across a column of it. A NULL
// is a gap, and what cannot be drawn is said.
"use strict";
(() => {
  const { css, scaled, two } = axes;
  let plot = null, again = null;
  const number = (v) => v === null || v === undefined ? "–" : Math.abs(v) >= 1e4 ? scaled(v, 1000, ["", " k", " M", " G", " T"]) : String(+v.toPrecision(6));
  const ticks = (all) => all.some((v) => Math.abs(v) >= 1e4) ? all.map((v) => scaled(v, 1000, ["", " k", " M", " G", " T"])) : all.map(number);
  const day = (s) => { const t = new Date(1000 * s); return t.getUTCFullYear() + "-" + two(t.getUTCMonth() + 1) + "-" + two(t.getUTCDate()); };
  const clock = (s) => { const t = new Date(1000 * s); return two(t.getUTCHours()) + ":" + two(t.getUTCMinutes()) + ":" + two(t.getUTCSeconds()); };
  const short = (text) => [...text].length > 14 ? [...text].slice(0, 13).join("") + "…" : text;

  // read gives the columns of the table: their names, kinds and values, null for NULL.
  const read = (table) => [...table.tHead.rows[0].cells].map((th, i) => {
    const kind = th.dataset.kind;
    const values = [...table.tBodies[0].rows].map((row) => {
      const cell = row.cells[i];
      if (cell.querySelector(".null")) return null;
      const text = cell.firstChild ? cell.firstChild.textContent : "";
      if (kind === "text") return text;
      const value = kind === "number" ? parseFloat(text) : Date.parse(/[zZ]$|[+-]\d\d:?\d\d$/.test(text) || text.length <= 10 ? text : text.replace(" ", "T") + "Z") / 1000;
      return Number.isFinite(value) ? value : null;
    });
    return { name: th.textContent, kind, values };
  });

  const draw = (box, table) => {
    const [form, across] = box.querySelectorAll("select"), choices = box.querySelector(".values"), at = box.querySelector(".plot"), note = box.querySelector("[role=status]");
    const columns = read(table), rows = table.tBodies[0].rows.length;
    const numbers = columns.filter((c) => c.kind === "number");
    if (!numbers.length || !window.uPlot) return;
    box.hidden = false;
    const first = columns.find((c) => c.kind === "time") || columns.find((c) => c.kind === "text") || (numbers.length > 1 ? numbers[0] : null);
    across.replaceChildren(...columns.map((c, i) => new Option(c.name, i)), new Option("the place of the line", -1));
    across.value = first ? columns.indexOf(first) : -1;
    form.value = !first || first.kind === "text" ? "bars" : first.kind === "time" ? "line" : "points";
    let left = numbers.filter((c) => c !== first).length ? 1 : 0;
    choices.replaceChildren(...numbers.map((c) => {
      const on = make("input", { type: "checkbox", value: columns.indexOf(c), checked: c !== first && left-- > 0 });
      return make("label", { className: "check" }, on, " " + c.name);
    }));
    again = () => {
      if (plot) plot.destroy();
      plot = null;
      if (!box.isConnected || !box.open || !at.clientWidth) return;
      read(table).forEach((c, i) => { columns[i].values = c.values; }); // it may have been sorted
      const x = columns[+across.value] || { name: "line", kind: "place", values: Array.from({ length: rows }, (_, i) => i + 1) };
      const shown = [...choices.querySelectorAll("input:checked")].slice(0, 8).map((i) => columns[+i.value]);
      note.textContent = "";
      if (!shown.length) { note.textContent = "Choose a number to draw."; return; }
      // A text has no distances: its values stand side by side, in the order of the lines.
      const scale = x.kind !== "text" && form.value !== "bars";
      let order = Array.from({ length: rows }, (_, i) => i);
      if (scale) order = order.filter((i) => x.values[i] !== null).sort((a, b) => x.values[a] - x.values[b]);
      const label = (i) => x.values[i] === null || x.values[i] === undefined ? "NULL" : x.kind === "time" ? day(x.values[i]) + (x.values[i] % 86400 ? " " + clock(x.values[i]) : "") : String(x.values[i]);
      // Bars of several columns stand beside each other, then there is a place between.
      const wide = form.value === "bars" ? shown.length + (shown.length > 1 ? 1 : 0) : 1, places = scale ? order.map((i) => x.values[i]) : Array.from({ length: order.length * wide }, (_, i) => i);
      const series = shown.map((c, k) => scale || wide === 1 ? order.map((i) => c.values[i]) : places.map((p) => p % wide === k ? c.values[order[Math.floor(p / wide)]] : null));
      const holds = (p) => order[Math.min(order.length - 1, Math.floor(p / wide))];
      const y = (u, low, high) => {
        if (low === null || high === null) return [0, 1];
        if (form.value === "bars") return [Math.min(0, 1.05 * low), Math.max(0, 1.05 * high) || (low < 0 ? 0 : 1)];
        const room = (high - low || Math.abs(high) || 1) * 0.06;
        return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
      };
      const axis = axes.axis();
      const days = x.kind === "time" ? new Set(order.filter((i) => x.values[i] !== null).map((i) => day(x.values[i]))) : new Set();
      const named = (c) => c.name + (c.kind !== "time" ? "" : days.size === 1 ? " (UTC, " + [...days][0] + ")" : " (UTC)");
      const xs = scale
        ? { ...axis, space: 90, label: named(x), labelSize: 20, values: (u, all, i, space, apart) => x.kind !== "time" ? ticks(all) : all.map((v) => (apart >= 86400 || days.size > 1 && v % 86400 === 0 ? day(v) : clock(v))) }
        : { ...axis, label: named(x), labelSize: 20, size: 44 + 4.5 * Math.min(14, order.reduce((n, i) => Math.max(n, [...label(i)].length), 0)), rotate: -40, grid: { show: false }, splits: () => { const every = Math.max(1, Math.ceil(order.length / Math.max(1, at.clientWidth / 24))); return order.map((_, i) => i).filter((i) => i % every === 0).map((i) => i * wide + (shown.length - 1) / 2 * (wide > 1 ? 1 : 0)); }, values: (u, all) => all.map((p) => short(label(holds(p)))) };
      const missing = rows - order.length, nulls = shown.reduce((n, c) => n + order.filter((i) => c.values[i] === null).length, 0);
      plot = new uPlot({
        width: at.clientWidth, height: 320, cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        tzDate: (s) => uPlot.tzDate(new Date(1000 * s), "Etc/UTC"),
        scales: { x: { time: scale && x.kind === "time", range: (u, low, high) => scale ? (low === high ? [low - 1, high + 1] : [low, high]) : [-0.6, places.length - 0.4 - (wide > 1 ? 1 : 0)] }, y: { range: y } },
        axes: [xs, { ...axis, size: 64, label: shown.length === 1 ? shown[0].name : undefined, labelSize: 20, values: (u, all) => ticks(all) }],
        series: [{ label: x.name, value: (u, v, s, i) => i === null || i === undefined ? "–" : label(scale ? order[i] : holds(i)) }, ...shown.map((c, k) => ({
          label: c.name, stroke: axes.line(k), width: form.value === "line" ? 1.5 : 1, spanGaps: false, value: (u, v, s, i) => i === null || i === undefined ? "–" : number(scale || wide === 1 ? v : c.values[holds(i)]),
          fill: form.value === "bars" ? axes.line(k) + "99" : undefined, points: { show: form.value === "points" || form.value === "line" && order.length <= 60, size: 5 },
          paths: form.value === "bars" ? uPlot.paths.bars({ size: [shown.length > 1 ? 0.9 : 0.7, 80] }) : form.value === "points" ? () => null : undefined,
        }))],
      }, [places, ...series], at);
      at.setAttribute("aria-label", form.selectedOptions[0].text + " of " + shown.map((c) => c.name).join(", ") + " across " + x.name + "; the numbers are in the table above");
      note.textContent = [table.dataset.whole ? "" : "only the lines that are shown are drawn", missing ? missing + (missing === 1 ? " line has" : " lines have") + " no place on the axis" : "", nulls ? nulls + (nulls === 1 ? " NULL is a gap" : " NULLs are gaps") : ""].filter(Boolean).join("; ");
    };
    box.addEventListener("toggle", again);
    box.addEventListener("change", again);
  };

  window.drawn = () => plot; // for tests

  const find = () => { const box = document.getElementById("draw"), table = document.querySelector("#result table.lines"); if (box && table && box.hidden) draw(box, table); };
  document.addEventListener("htmx:afterSwap", (e) => { if (e.detail.target.id === "result") { again = null; plot = null; find(); } });
  find();
  document.addEventListener("click", (e) => { if (again && e.target.closest("#result th")) setTimeout(again); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => again && again());
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (again && window.innerWidth !== width) { width = window.innerWidth; again(); } });
})();
