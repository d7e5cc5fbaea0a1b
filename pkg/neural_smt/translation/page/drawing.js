// The alignment of a translation as a drawing: words of both sentences in two rows, or in two columns where rows do
// not fit; an item is a phrase pair, or a word with the source word that it looked at.

const SPACE = "http://www.w3.org/2000/svg";
const HEIGHT = 32; // of a word's box
const PADDING = 9; // of a word in its box
const GAP = 7; // between words
const COLOURS = 6;

export function element(name, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const pen = document.createElement("canvas").getContext("2d");

function widths(words) {
  pen.font = "15px system-ui, sans-serif";
  return words.map((word) => Math.ceil(pen.measureText(word).width) + 2 * PADDING);
}

// Boxes {x, y, width, height} of the words of a row that starts at x.
function inRow(sizes, x, y) {
  return sizes.map((width) => {
    const box = { x, y, width, height: HEIGHT };
    x += width + GAP;
    return box;
  });
}

function inColumn(sizes, x, width) {
  return sizes.map((_, number) => ({ x, y: 24 + number * (HEIGHT + GAP), width, height: HEIGHT }));
}

const length = (sizes) => sizes.reduce((sum, size) => sum + size + GAP, -GAP);

function placed(source, target, room) {
  const sizes = [widths(source), widths(target)];
  const [first, second] = sizes.map(length);
  const width = Math.max(first, second) + 4;
  if (width <= room) {
    const rows = [inRow(sizes[0], (width - first) / 2, 24), inRow(sizes[1], (width - second) / 2, 150)];
    return { rows, width, height: 210, upright: false };
  }
  const [left, right] = sizes.map((side) => Math.max(...side));
  const between = Math.max(64, Math.min(room - left - right - 4, 220));
  const rows = [inColumn(sizes[0], 2, left), inColumn(sizes[1], 2 + left + between, right)];
  const height = 28 + Math.max(source.length, target.length) * (HEIGHT + GAP);
  return { rows, width: left + between + right + 4, height, upright: true };
}

// The box around the words from start to stop.
function around(boxes, [start, stop]) {
  const [first, last] = [boxes[start], boxes[stop - 1]];
  return { x: first.x, y: first.y, width: last.x + last.width - first.x, height: last.y + last.height - first.y };
}

function rectangle(box, kind) {
  return element("rect", { ...box, rx: 7, class: kind });
}

function band(one, other, upright, kind) {
  const corners = upright
    ? [[one.x + one.width, one.y], [other.x, other.y], [other.x, other.y + other.height],
       [one.x + one.width, one.y + one.height]]
    : [[one.x, one.y + one.height], [one.x + one.width, one.y + one.height], [other.x + other.width, other.y],
       [other.x, other.y]];
  return element("polygon", { points: corners.map((corner) => corner.join(",")).join(" "), class: `band ${kind}` });
}

function link(one, other, upright) {
  if (upright) {
    const [x, y, u, v] = [one.x + one.width, one.y + HEIGHT / 2, other.x, other.y + HEIGHT / 2];
    const middle = (x + u) / 2;
    return element("path", { d: `M${x} ${y}C${middle} ${y} ${middle} ${v} ${u} ${v}`, class: "link" });
  }
  const [x, y, u, v] = [one.x + one.width / 2, one.y + HEIGHT, other.x + other.width / 2, other.y];
  const middle = (y + v) / 2;
  return element("path", { d: `M${x} ${y}C${x} ${middle} ${u} ${middle} ${u} ${v}`, class: "link" });
}

function lettering(words, boxes) {
  return words.map((word, number) => {
    const box = boxes[number];
    const place = { x: box.x + box.width / 2, y: box.y + 21, "text-anchor": "middle", "pointer-events": "none" };
    return element("text", place, word);
  });
}

// items: [{source: [start, stop] or null, target: [start, stop], label, copied}]; links: [[i, j]]; chosen(number): called when
// an item is chosen; selected: the number of the one that is (-1: none). Returns the drawing, and whether it is upright.
export function draw({ source, target, items, links, sides, room, selected, chosen }) {
  const { rows, width, height, upright } = placed(source, target, room);
  const drawing = element("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": "Alignment of the words" });
  const bases = rows[0].map((box) => rectangle(box, "word"));
  const groups = items.map((item, number) => {
    const kind = `c${number % COLOURS}`;
    const end = around(rows[1], item.target);
    const group = element("g", { class: item.copied ? "item copied" : "item", role: "button", tabindex: number === Math.max(selected, 0) ? 0 : -1,
      "aria-pressed": String(number === selected),
      "aria-label": item.label }, element("title", {}, item.label));
    if (item.source) {
      const start = around(rows[0], item.source);
      group.append(band(start, end, upright, kind), rectangle(start, `box ${kind}`));
    }
    group.append(rectangle(end, `box ${kind}`));
    for (const [i, j] of links) {
      if (j >= item.target[0] && j < item.target[1]) group.append(link(rows[0][i], rows[1][j], upright));
    }
    return group;
  });
  const place = upright ? { x: rows[1].length ? rows[1][0].x : 0, y: 14 } : { x: 2, y: 204 };
  drawing.append(element("text", { x: 2, y: 14, class: "side" }, sides[0]),
    element("text", { ...place, class: "side" }, sides[1]), ...bases, ...groups,
    ...lettering(source, rows[0]), ...lettering(target, rows[1]));
  connect(groups, chosen);
  return { drawing, upright };
}

// Choosing with the mouse, by touch and with the keyboard: arrows go from item to item.
function connect(groups, chosen) {
  const choose = (number, focus) => {
    groups.forEach((group, other) => {
      group.setAttribute("aria-pressed", String(other === number));
      group.setAttribute("tabindex", other === number ? 0 : -1);
    });
    if (focus) groups[number].focus();
    chosen(number);
  };
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  groups.forEach((group, number) => {
    group.addEventListener("click", () => choose(number, false));
    group.addEventListener("keydown", (event) => {
      if (event.key in steps) choose((number + steps[event.key] + groups.length) % groups.length, true);
      else if (event.key === "Enter" || event.key === " ") choose(number, false);
      else return;
      event.preventDefault();
    });
  });
}
