"use strict";
// Search, and the labels that fit; all text of the data reaches the page by textContent, never as HTML.
const byId = (id) => document.getElementById(id);
const query = byId("query"), list = byId("found"), tip = byId("tip");
const MOST_FOUND = 40, MOST_LABELS = 400;
const home = new Map(); // how far each range reaches where it holds all points
let tabs = null;

const plane = () => tabs.tabs[tabs.active].child;
const dots = () => plane().renderers[0];
const data = () => dots().data_source.data;

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
// Labels in order: what was found, then the most frequent; one is left out where another already stands.
function label(plot) {
  const [points, labels] = plot.renderers, columns = points.data_source.data, found = new Set(points.data_source.selected.indices);
  const { start: left, end: right } = plot.x_range, { start: low, end: high } = plot.y_range;
  const wide = (right - left) / Math.max(plot.inner_width || 800, 1), tall = (high - low) / Math.max(plot.inner_height || 600, 1);
  if (!(right > left) || !(high > low)) return;
  for (const range of [plot.x_range, plot.y_range]) if (!home.has(range)) home.set(range, range.end - range.start);
  const shown = new Array(columns.text.length).fill(false), taken = new Map();
  const order = [...found, ...columns.text.keys()];
  let written = 0;
  for (const number of order) {
    const x = (columns.x[number] - left) / wide, y = (columns.y[number] - low) / tall;
    if (shown[number] || x < 0 || y < 0 || columns.x[number] > right || columns.y[number] > high) continue;
    const box = [x + 5, y - 7, x + 11 + 6.7 * columns.text[number].length, y + 7], cells = [];
    for (let i = Math.floor(box[0] / 64); i <= Math.floor(box[2] / 64); i++)
      for (let j = Math.floor(box[1] / 64); j <= Math.floor(box[3] / 64); j++) cells.push(i + ":" + j);
    const over = (o) => o[0] < box[2] && box[0] < o[2] && o[1] < box[3] && box[1] < o[3];
    if (cells.some((cell) => (taken.get(cell) || []).some(over))) continue;
    for (const cell of cells) taken.set(cell, [...(taken.get(cell) || []), box]);
    shown[number] = true;
    if (++written >= MOST_LABELS) break;
  }
  labels.view.filter.booleans = shown;
  document.body.dataset.labels = written;
}
function read(number) {
  const columns = data();
  tip.replaceChildren(element("b", columns.text[number]),
    element("small", "seen " + columns.count[number].toLocaleString("en") + " times"),
    element("small", "near: " + columns.near[number]));
  tip.hidden = false;
}
function goTo(number) {
  const plot = plane(), columns = data();
  for (const [range, middle] of [[plot.x_range, columns.x[number]], [plot.y_range, columns.y[number]]]) {
    const reach = Math.min(range.end - range.start, home.get(range) / 8) / 2;
    range.have_updated_interactively = true; // or it would go back to hold all points
    range.setv({ start: middle - reach, end: middle + reach });
  }
  read(number);
}
function search() {
  const wanted = query.value.trim().toLowerCase(), ranked = [];
  list.replaceChildren();
  tip.hidden = true;
  data().text.forEach((text, number) => {
    const words = text.toLowerCase(), at = (" " + words).indexOf(" " + wanted);
    if (wanted && words.includes(wanted)) ranked.push([words === wanted ? 0 : at >= 0 ? 1 : 2, number]);
  });
  ranked.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  dots().data_source.selected.indices = ranked.map((entry) => entry[1]);
  for (const [, number] of ranked.slice(0, MOST_FOUND)) {
    const button = element("button", data().text[number]), item = document.createElement("li");
    button.type = "button";
    button.addEventListener("click", () => goTo(number));
    item.append(button);
    list.append(item);
  }
  const more = ranked.length - MOST_FOUND;
  if (wanted && (!ranked.length || more > 0)) list.append(element("span", ranked.length ? more + " more" : "nothing found"));
  label(plane());
}
function start() {
  tabs = Bokeh.documents[0] && Bokeh.documents[0].get_model_by_name("layers");
  if (!tabs) return void setTimeout(start, 50);
  for (const panel of tabs.tabs) {
    const plot = panel.child;
    let planned = false;
    const plan = () => {
      if (planned) return;
      planned = true;
      requestAnimationFrame(() => { planned = false; label(plot); });
    };
    for (const range of [plot.x_range, plot.y_range]) range.change.connect(plan);
    for (const size of [plot.properties.inner_width, plot.properties.inner_height]) size.change.connect(plan);
    plan();
  }
  tabs.properties.active.change.connect(search);
  query.addEventListener("input", search);
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.querySelector("button")?.click();
  });
  byId("all").addEventListener("click", () => { plane().reset.emit(); tip.hidden = true; });
}
start();
