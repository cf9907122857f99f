// Draws the charts, and fetches new samples while somebody looks.
"use strict";
(() => {
  const page = document.getElementById("charts");
  if (!page) return;
  const state = document.getElementById("chart-state");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const { css, scaled, two } = axes;
  const most = { hour: 720, day: 1440, month: 1440 }[page.dataset.span] + 8; // with gaps
  const length = { hour: 3600, day: 86400, month: 30 * 86400 }[page.dataset.span];
  const charts = new Map(); // by id: {figure, names, values, plot}
  const whole = document.getElementById("whole");
  let at = [];
  let gaps = [];
  let zoom = null; // the part of the time that all charts show; null: all
  let step = 5;

  const texts = {
    "s": (v) => scaled(v * 1e6, 1000, [" µs", " ms", " s"]),
    "B": (v) => scaled(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]),
    "B/s": (v) => scaled(v, 1024, [" B/s", " KiB/s", " MiB/s", " GiB/s"]),
    "%": (v) => (100 * v).toFixed(1) + " %",
    "/s": (v) => scaled(v, 1000, [" /s", " k/s", " M/s"]),
    "": (v) => scaled(v, 1000, ["", " k", " M", " G"]),
  };

  // A stacked chart draws sums from the bottom, and its legend shows the parts.
  const drawn = (c) => {
    if (!c.stacked) return [at, ...c.values];
    const sums = [];
    const none = at.map((_, k) => c.values.every((line) => line[k] === null || line[k] === undefined)); // a gap is no zero
    c.values.forEach((line, i) => sums.push(line.map((v, k) => none[k] ? null : (i ? sums[i - 1][k] || 0 : 0) + (v || 0))));
    return [at, ...sums];
  };

  const make = (c) => {
    if (c.plot) c.plot.destroy();
    c.plot = null;
    const box = c.figure.querySelector(".plot");
    if (!box.clientWidth) return; // it is folded
    const text = texts[c.figure.dataset.unit];
    const day = (t) => two(t.getMonth() + 1) + "-" + two(t.getDate());
    const clock = (t) => two(t.getHours()) + ":" + two(t.getMinutes());
    const time = (s, apart) => { const t = new Date(1000 * s); return apart >= 86400 ? day(t) : clock(t) + (apart < 60 ? ":" + two(t.getSeconds()) : ""); };
    // Where nobody points, the legend has the newest values.
    const newest = (line) => { for (let k = line.length - 1; k >= 0; k--) if (line[k] !== null) return line[k]; return null; };
    const axis = axes.axis();
    c.plot = new uPlot({
      width: box.clientWidth, height: 180, legend: { live: true }, cursor: { points: { size: 6 }, sync: { key: "charts" }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { range: () => { if (zoom) return zoom; const last = at[at.length - 1] || Date.now() / 1000; return [last - length, last]; } }, y: { range: (u, min, max) => [Math.min(0, min || 0), max > 0 ? max * 1.05 : 1] } },
      axes: [{ ...axis, space: 60, values: (u, all, i, space, apart) => all.map((s) => time(s, apart)) }, { ...axis, size: 76, incrs: c.figure.dataset.unit.startsWith("B") ? powers : undefined, values: (u, all) => all.map(text) }],
      hooks: { draw: [restarts], setSelect: [select] },
      series: [{ label: "at", value: (u, s) => { if (s === null || s === undefined) s = at[at.length - 1]; return s ? day(new Date(1000 * s)) + " " + time(s, 0) : "–"; } }, ...c.names.map((name, i) => ({
        label: name, stroke: axes.line(i), width: 1.5, points: { show: () => at.length < 60, size: 4 }, spanGaps: false,
        fill: c.stacked ? axes.line(i) + "22" : undefined,
        value: (u, v, series, k) => { const line = c.values[series - 1] || []; const raw = k === null || k === undefined ? newest(line) : line[k]; return raw === null || raw === undefined ? "–" : text(raw); },
      }))],
    }, drawn(c), box);
  };

  // Ticks of bytes are powers of two.
  const powers = Array.from({ length: 50 }, (_, i) => 2 ** i);

  // restarts draws a line where there are no samples.
  const restarts = (u) => {
    u.ctx.save();
    u.ctx.strokeStyle = css("--soft");
    u.ctx.setLineDash([4, 4]);
    for (const t of gaps) {
      const x = Math.round(u.valToPos(t, "x", true));
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.bbox.top);
      u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
      u.ctx.stroke();
    }
    u.ctx.restore();
  };

  const show = (part) => {
    zoom = part;
    whole.hidden = !part;
    charts.forEach((c) => { if (c.plot) c.plot.setData(drawn(c)); });
  };
  const select = (u) => {
    if (u.select.width < 5) return;
    const part = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    show(part);
  };
  whole.addEventListener("click", () => show(null));
  page.addEventListener("dblclick", () => show(null));
  // The charts of a theme are drawn when it is unfolded.
  page.addEventListener("toggle", (e) => {
    if (e.target.open) e.target.querySelectorAll("figure").forEach((f) => { const c = charts.get(f.id); if (c && !c.plot) make(c); });
  }, true);
  if (location.hash) {
    const asked = document.getElementById(location.hash.slice(1));
    const theme = asked && asked.closest("details.theme");
    if (theme) { theme.open = true; asked.scrollIntoView(); }
  }

  // take puts the samples of an answer behind those that are there, in place of the ones
  // that begin at the same time or later.
  const take = (data) => {
    step = data.step;
    const keep = data.at.length ? at.filter((t) => t < data.at[0]).length : at.length;
    const drop = Math.max(0, keep + data.at.length - most);
    at = at.slice(drop, keep).concat(data.at);
    gaps = gaps.filter((t) => t >= at[0] && !(data.at.length && t >= data.at[0])).concat(data.gaps);
    for (const chart of data.charts) {
      const figure = document.getElementById(chart.id);
      const c = charts.get(chart.id) || { figure, names: null, values: [], stacked: figure.dataset.stacked === "1" };
      const names = data.at.length || !c.names ? chart.lines.map((l) => l.name) : c.names;
      const before = new Map((c.names || []).map((name, i) => [name, c.values[i]]));
      c.values = names.map((name) => {
        const old = before.get(name) || [];
        const line = chart.lines.find((l) => l.name === name);
        const kept = Array.from({ length: keep - drop }, (_, k) => old[drop + k] ?? null);
        return kept.concat(line ? line.values : []);
      });
      const same = c.names && c.names.join("\n") === names.join("\n");
      c.names = names;
      charts.set(chart.id, c);
      if (same && c.plot) c.plot.setData(drawn(c)); else make(c);
    }
  };

  // refresh fetches what is new. The last two samples may still have grown.
  const refresh = async () => {
    const after = at.length > 2 ? "&after=" + (at[at.length - 2] - 1) : "";
    try {
      const answer = await fetch("/charts/data?span=" + page.dataset.span + after, { credentials: "same-origin", redirect: "manual" });
      if (answer.type === "opaqueredirect") { state.textContent = "The server wants a token: load the page again."; return; }
      if (!answer.ok) throw new Error(answer.status);
      take(await answer.json());
      state.textContent = "";
    } catch (e) {
      state.textContent = "The server does not answer: these are old numbers.";
    }
  };
  window.refreshCharts = refresh; // for tests

  const later = () => setTimeout(async () => {
    if (!document.hidden) await refresh();
    later();
  }, Math.min(step, 60) * 1000);
  const again = () => charts.forEach(make);
  dark.addEventListener("change", again);
  let width = page.clientWidth;
  new ResizeObserver(() => {
    if (page.clientWidth !== width) {
      width = page.clientWidth;
      charts.forEach((c) => c.plot && c.plot.setSize({ width: c.figure.querySelector(".plot").clientWidth, height: 180 }));
    }
  }).observe(page);
  refresh().then(later);
})();
