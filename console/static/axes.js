// What all charts share: colours, axes and numbers.
"use strict";
const axes = (() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const scaled = (n, by, names) => {
    let i = 0;
    for (; Math.abs(n) >= by && i < names.length - 1; i++) n /= by;
    return +n.toFixed(Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2) + names[i];
  };
  const two = (n) => String(n).padStart(2, "0");
  const axis = () => ({ stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" });
  return { css, scaled, two, axis, line: (i) => css("--line" + (i % 8)) };
})();
