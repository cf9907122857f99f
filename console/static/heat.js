// The map of a table's heat: columns are times, rows are key buckets. The pointer or the
// arrow keys choose a field, and the line below the map says what it has.
"use strict";
(() => {
  const canvas = document.getElementById("heat");
  const line = document.getElementById("heat-at");
  const kind = document.getElementById("heat-kind");
  const high = 8;
  let map = null, at = null;

  const count = (x, y) => (kind.value !== "writes" ? map.reads[x][y] : 0) + (kind.value !== "reads" ? map.writes[x][y] : 0);
  const time = (x) => new Date(map.since_ms + x * map.column_ms).toISOString().slice(5, 16).replace("T", " ");

  function draw() {
    const columns = map.reads.length, buckets = map.keys.length;
    const wide = Math.max(2, Math.floor(canvas.parentElement.clientWidth / columns));
    canvas.width = wide * columns;
    canvas.height = high * buckets;
    const style = getComputedStyle(document.documentElement);
    const pen = canvas.getContext("2d");
    let most = 1;
    for (let x = 0; x < columns; x++) for (let y = 0; y < buckets; y++) most = Math.max(most, count(x, y));
    pen.fillStyle = style.getPropertyValue("--go");
    for (let x = 0; x < columns; x++) {
      for (let y = 0; y < buckets; y++) {
        const n = count(x, y);
        if (n === 0) continue;
        pen.globalAlpha = 0.08 + 0.92 * Math.log1p(n) / Math.log1p(most);
        pen.fillRect(x * wide, y * high, wide, high);
      }
    }
    pen.globalAlpha = 1;
    if (at) {
      pen.strokeStyle = style.getPropertyValue("--front");
      pen.lineWidth = 2;
      pen.strokeRect(at.x * wide + 1, at.y * high + 1, Math.max(2, wide - 2), high - 2);
      const until = at.y + 1 < buckets ? " to before " + map.keys[at.y + 1] : " on";
      line.textContent = `${time(at.x)} to ${time(at.x + 1)} UTC, keys from ${map.keys[at.y]}${until}: ${map.reads[at.x][at.y]} reads, ${map.writes[at.x][at.y]} writes`;
    }
  }

  function choose(x, y) {
    if (!map || map.keys.length === 0) return;
    at = { x: Math.min(Math.max(x, 0), map.reads.length - 1), y: Math.min(Math.max(y, 0), map.keys.length - 1) };
    draw();
  }

  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (!step || !map) return;
    e.preventDefault();
    if (at) choose(at.x + step[0], at.y + step[1]);
    else choose(map.reads.length - 1, 0);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!map || map.reads.length === 0) return;
    choose(Math.floor(e.offsetX * map.reads.length / canvas.clientWidth), Math.floor(e.offsetY / high));
  });
  kind.addEventListener("change", () => { if (map) draw(); });
  window.addEventListener("resize", () => { if (map) draw(); });

  fetch(canvas.dataset.map).then((r) => r.ok ? r.json() : Promise.reject(new Error("the server answers " + r.status))).then((got) => {
    map = got;
    line.textContent = map.keys.length > 0 ? "Point at the map, or go to it and use the arrow keys." : "Nothing was read or written in this time.";
    draw();
  }).catch((e) => { line.textContent = "There is no map: " + e.message; });
})();
