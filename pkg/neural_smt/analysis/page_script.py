"""The script of the interactive page. All text of the data reaches the page by ``textContent``, never as HTML."""

SCRIPT = r"""
"use strict";
const layers = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const canvas = byId("plane"), pen = canvas.getContext("2d"), tip = byId("tip"), query = byId("query");
const tabs = [...document.querySelectorAll("[data-layer]")];
const TEXT = 0, COUNT = 1, X = 2, Y = 3, MOST_FOUND = 40;
let points = [], extent = null, view = null, matches = new Set(), chosen = -1, width = 0, height = 0, planned = false;

function bounds(list) {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const p of list) {
    left = Math.min(left, p[X]); right = Math.max(right, p[X]);
    low = Math.min(low, p[Y]); high = Math.max(high, p[Y]);
  }
  return list.length ? {left, right, low, high} : {left: -1, right: 1, low: -1, high: 1};
}
function fitted() {
  const across = Math.max(extent.right - extent.left, 1e-6), up = Math.max(extent.high - extent.low, 1e-6);
  const scale = 0.92 * Math.min(width / across, height / up);
  return {x: (extent.left + extent.right) / 2, y: (extent.low + extent.high) / 2, scale};
}
const toScreen = (p) => [(p[X] - view.x) * view.scale + width / 2, (view.y - p[Y]) * view.scale + height / 2];
function zoom(factor, atX, atY) {
  const least = fitted().scale, scale = Math.min(Math.max(view.scale * factor, least * 0.6), least * 400);
  const dx = atX - width / 2, dy = atY - height / 2;
  view.x += dx / view.scale - dx / scale;
  view.y -= dy / view.scale - dy / scale;
  view.scale = scale;
  redraw();
}
function redraw() {
  if (!planned) { planned = true; requestAnimationFrame(() => { planned = false; draw(); }); }
}
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function draw() {
  if (!view) return;
  const ratio = window.devicePixelRatio || 1;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const base = fitted().scale, radius = Math.min(2 + Math.log2(Math.max(view.scale / base, 1)) * 0.5, 4.5);
  const [plain, found, ink, strong] = ["--point", "--found", "--text", "--strong"].map(colour);
  const visible = [];
  points.forEach((p, number) => {
    const [x, y] = toScreen(p);
    if (x > -9 && y > -9 && x < width + 9 && y < height + 9) visible.push([number, x, y]);
  });
  for (const pass of [false, true]) {
    pen.globalAlpha = !pass && matches.size ? 0.3 : 0.8;
    pen.fillStyle = pass ? found : plain;
    for (const [number, x, y] of visible) {
      if (matches.has(number) !== pass) continue;
      pen.beginPath(); pen.arc(x, y, pass ? radius + 1.5 : radius, 0, 7); pen.fill();
    }
  }
  pen.globalAlpha = 1;
  label(visible, ink, found);
  if (chosen >= 0) {
    const [x, y] = toScreen(points[chosen]);
    pen.strokeStyle = strong; pen.lineWidth = 2;
    pen.beginPath(); pen.arc(x, y, radius + 4, 0, 7); pen.stroke();
  }
}
// Labels in order: what was found, then the most frequent; one is left out where another already stands.
function label(visible, ink, found) {
  pen.font = "12px system-ui, sans-serif"; pen.textBaseline = "middle";
  pen.strokeStyle = colour("--back"); pen.lineWidth = 3; pen.lineJoin = "round";
  const taken = new Map(), CELL = 64, ordered = matches.size
    ? [...visible.filter((v) => matches.has(v[0])), ...visible.filter((v) => !matches.has(v[0]))] : visible;
  let written = 0;
  for (const [number, x, y] of ordered) {
    if (written > 400) break;
    const text = points[number][TEXT], wide = pen.measureText(text).width + 6;
    const box = [x + 5, y - 7, x + 5 + wide, y + 7], cells = [];
    for (let i = Math.floor(box[0] / CELL); i <= Math.floor(box[2] / CELL); i++)
      for (let j = Math.floor(box[1] / CELL); j <= Math.floor(box[3] / CELL); j++) cells.push(i + ":" + j);
    const over = (o) => o[0] < box[2] && box[0] < o[2] && o[1] < box[3] && box[1] < o[3];
    if (cells.some((cell) => (taken.get(cell) || []).some(over))) continue;
    for (const cell of cells) { if (!taken.has(cell)) taken.set(cell, []); taken.get(cell).push(box); }
    pen.globalAlpha = matches.size && !matches.has(number) ? 0.45 : 1;
    pen.fillStyle = matches.has(number) ? found : ink;
    pen.strokeText(text, x + 7, y);
    pen.fillText(text, x + 7, y);
    written++;
  }
  pen.globalAlpha = 1;
}
function nearest(x, y, reach) {
  let best = -1, least = reach * reach;
  points.forEach((p, number) => {
    const [px, py] = toScreen(p), d = (px - x) ** 2 + (py - y) ** 2;
    if (d < least) { least = d; best = number; }
  });
  return best;
}
function neighbours(number, count) {
  const p = points[number];
  return points.map((o, i) => [(o[X] - p[X]) ** 2 + (o[Y] - p[Y]) ** 2, i]).filter((e) => e[1] !== number)
    .sort((a, b) => a[0] - b[0]).slice(0, count).map((e) => points[e[1]][TEXT]);
}
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
function read(number) {
  if (number !== chosen) { chosen = number; redraw(); }
  tip.hidden = number < 0;
  if (number < 0) return;
  const p = points[number], [x, y] = toScreen(p);
  tip.replaceChildren(element("b", p[TEXT]), element("small", "seen " + p[COUNT].toLocaleString("en") + " times"),
    element("small", "near: " + neighbours(number, 5).join(" · ")));
  const wide = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(x + 12, width - wide - 4)) + "px";
  tip.style.top = (y + 14 + high > height ? Math.max(4, y - high - 12) : y + 14) + "px";
}
function goTo(number) {
  const p = points[number];
  view = {x: p[X], y: p[Y], scale: Math.max(view.scale, fitted().scale * 8)};
  draw();
  read(number);
}
function search() {
  const wanted = query.value.trim().toLowerCase(), list = byId("found");
  matches = new Set();
  list.replaceChildren();
  if (wanted) {
    const ranked = [];
    points.forEach((p, number) => {
      const text = p[TEXT].toLowerCase(), at = (" " + text).indexOf(" " + wanted);
      if (text.includes(wanted)) ranked.push([text === wanted ? 0 : at >= 0 ? 1 : 2, number]);
    });
    ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    ranked.forEach((entry) => matches.add(entry[1]));
    for (const [, number] of ranked.slice(0, MOST_FOUND)) {
      const button = element("button", points[number][TEXT]), item = document.createElement("li");
      button.type = "button";
      button.addEventListener("click", () => { goTo(number); if (width < 640) list.replaceChildren(); });
      item.append(button);
      list.append(item);
    }
    const more = ranked.length - MOST_FOUND;
    if (!ranked.length || more > 0) list.append(element("span", ranked.length ? more + " more" : "nothing found"));
  }
  redraw();
}
function show(layer) {
  points = layers[layer];
  extent = bounds(points);
  view = fitted();
  chosen = -1; tip.hidden = true;
  for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.layer === layer));
  search();
}
function resize() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1, before = view && fitted().scale;
  width = box.width; height = box.height;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  // where the page was first laid out with no size, nothing was fitted yet
  if (view) view = before > 0 ? {...view, scale: view.scale * fitted().scale / before} : fitted();
  draw();
}
const fingers = new Map();
let moved = 0;
function place(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, place(event));
  if (fingers.size === 1) moved = 0;
});
canvas.addEventListener("pointermove", (event) => {
  const here = place(event), last = fingers.get(event.pointerId);
  if (!last) { if (event.pointerType === "mouse") read(nearest(here[0], here[1], 14)); return; }
  const others = [...fingers].filter((entry) => entry[0] !== event.pointerId).map((entry) => entry[1]);
  moved += Math.hypot(here[0] - last[0], here[1] - last[1]);
  if (moved > 6) tip.hidden = true;
  if (others.length) {
    const other = others[0], middle = [(here[0] + other[0]) / 2, (here[1] + other[1]) / 2];
    const spread = (p) => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1);
    zoom(spread(here) / spread(last), middle[0], middle[1]);
  }
  const share = others.length ? 0.5 : 1;
  view.x -= share * (here[0] - last[0]) / view.scale;
  view.y += share * (here[1] - last[1]) / view.scale;
  fingers.set(event.pointerId, here);
  redraw();
});
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => {
  const here = place(event), single = fingers.size === 1;
  fingers.delete(event.pointerId);
  if (kind === "pointerup" && single && moved < 6) read(nearest(here[0], here[1], 24));
});
canvas.addEventListener("pointerleave", () => { if (!fingers.size) read(-1); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const here = place(event), lines = event.deltaMode === 1 ? 20 : 1;
  tip.hidden = true;
  zoom(Math.exp(-event.deltaY * lines * 0.0015), here[0], here[1]);
}, {passive: false});
byId("in").addEventListener("click", () => zoom(1.6, width / 2, height / 2));
byId("out").addEventListener("click", () => zoom(1 / 1.6, width / 2, height / 2));
byId("all").addEventListener("click", () => { view = fitted(); chosen = -1; tip.hidden = true; redraw(); });
query.addEventListener("input", search);
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.size) byId("found").querySelector("button")?.click();
});
for (const tab of tabs) tab.addEventListener("click", () => show(tab.dataset.layer));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
resize();
show(tabs[0].dataset.layer);
new ResizeObserver(resize).observe(canvas);
""".strip()
