// The map of a table's heat: columns are times, rows are key buckets. The pointer or the
// arrow keys choose a field, and the line below the map says what it has.
"use strict";
(() => {
  const canvas = document.getElementById("heat");
  const line = document.getElementById("heat-at");
  const kind = document.getElementById("heat-kind");
  const rows = document.getElementById("heat-rows");
  const tall = 420, left = 150, bottom = 22; // the axes are at the left and below
  let map = null, at = null, first = 0, columns = 0, high = 14;

  const count = (x, y) => (kind.value !== "writes" ? map.reads[x][y] : 0) + (kind.value !== "reads" ? map.writes[x][y] : 0);
  const stamp = (ms) => new Date(ms).toISOString().slice(5, 16).replace("T", " ");
  const time = (x) => stamp(map.since_ms + x * map.column_ms);
  const cut = (pen, text, most) => { while (text.length > 2 && pen.measureText(text).width > most) text = text.slice(0, -2) + "…"; return text; };

  // The map is as wide as the time that was asked for: what was before the first sample
  // stays empty.
  function draw() {
    const buckets = map.keys.length;
    high = Math.max(4, Math.min(16, Math.floor(tall / Math.max(buckets, 1))));
    columns = Math.max(map.reads.length, Math.round(canvas.dataset.hours * 3600000 / map.column_ms));
    first = columns - map.reads.length;
    const scale = window.devicePixelRatio || 1;
    const all = canvas.parentElement.clientWidth, wide = (all - left) / columns;
    canvas.width = all * scale;
    canvas.height = (high * Math.max(buckets, 1) + bottom) * scale;
    canvas.style.width = all + "px";
    const style = getComputedStyle(document.documentElement);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px ui-monospace, monospace";
    pen.fillStyle = style.getPropertyValue("--soft");
    const between = Math.ceil(13 / high);
    for (let y = 0; y < buckets; y += between) pen.fillText(cut(pen, map.keys[y], left - 12), 4, y * high + 10);
    pen.font = "11px system-ui, sans-serif";
    const apart = Math.ceil(90 / wide);
    for (let x = 0; x < columns; x += apart) {
      pen.fillRect(left + x * wide, buckets * high, 1, 4);
      if (left + x * wide + 70 < all) pen.fillText(time(x - first), left + x * wide, buckets * high + 16);
    }
    let most = 1;
    for (let x = 0; x < map.reads.length; x++) for (let y = 0; y < buckets; y++) most = Math.max(most, count(x, y));
    pen.fillStyle = style.getPropertyValue("--raised");
    pen.fillRect(left + first * wide, 0, all, buckets * high);
    pen.fillStyle = style.getPropertyValue("--go");
    for (let x = 0; x < map.reads.length; x++) {
      for (let y = 0; y < buckets; y++) {
        const n = count(x, y);
        if (n === 0) continue;
        pen.globalAlpha = 0.08 + 0.92 * Math.log1p(n) / Math.log1p(most);
        pen.fillRect(left + (first + x) * wide, y * high, Math.max(wide, 2), high - 1);
      }
    }
    pen.globalAlpha = 1;
    if (at) {
      pen.strokeStyle = style.getPropertyValue("--front");
      pen.lineWidth = 2;
      pen.strokeRect(left + (first + at.x) * wide, at.y * high, Math.max(3, wide), high - 1);
      const until = at.y + 1 < buckets ? " to before " + map.keys[at.y + 1] : " on";
      line.textContent = `${time(at.x)} to ${time(at.x + 1)} UTC, keys from ${map.keys[at.y]}${until}: ${map.reads[at.x][at.y]} reads, ${map.writes[at.x][at.y]} writes`;
      rows.hidden = false;
      rows.href = address();
    }
  }

  function address() {
    const range = new URLSearchParams({ from: map.fields[at.y] });
    if (at.y + 1 < map.fields.length) range.set("to", map.fields[at.y + 1]);
    return canvas.dataset.table + "?" + range;
  }

  function choose(x, y) {
    if (!map || map.keys.length === 0) return;
    at = { x: Math.min(Math.max(x, 0), map.reads.length - 1), y: Math.min(Math.max(y, 0), map.keys.length - 1) };
    draw();
  }

  canvas.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && at) location.href = address();
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!step || !map) return;
    e.preventDefault();
    if (at) choose(at.x + step[0], at.y + step[1]);
    else choose(map.reads.length - 1, 0);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!map || map.reads.length === 0) return;
    choose(Math.floor((e.offsetX - left) * columns / (canvas.clientWidth - left)) - first, Math.floor(e.offsetY / high));
  });
  canvas.addEventListener("click", () => { if (at) location.href = address(); });
  kind.addEventListener("change", () => { if (map) draw(); });
  window.addEventListener("resize", () => { if (map) draw(); });

  fetch(canvas.dataset.map).then((r) => r.ok ? r.json() : Promise.reject(new Error("the server answers " + r.status))).then((got) => {
    map = got;
    line.textContent = map.keys.length > 0 ? "Point at the map, or go to it and use the arrow keys; a click or Enter shows the rows." : "Nothing was read or written in this time.";
    draw();
  }).catch((e) => { line.textContent = "There is no map: " + e.message; });
})();
