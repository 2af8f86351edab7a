"use strict";
// Elements, figures in words, curves, colours, canvases. The pieces of this folder make one script, in
// the order of src/render/html/mod.rs. What a dump says reaches the page as text nodes and
// attributes, never as markup.

const KIB = 1024;

/** An element: attributes (functions become listeners), then children; strings become text. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function unitOf(bytes) {
  if (bytes < KIB) return ["B", 1];
  if (bytes < KIB ** 2) return ["KiB", KIB];
  return bytes < KIB ** 3 ? ["MiB", KIB ** 2] : ["GiB", KIB ** 3];
}

/** `15.75 GiB`. */
function size(bytes) {
  const [unit, factor] = unitOf(bytes);
  return factor === 1 ? `${bytes} B` : `${(bytes / factor).toFixed(2)} ${unit}`;
}

/** The same as XLA's messages round it: what is below a thousandth of the unit is cut off. */
function sizeAsXla(bytes) {
  const [unit, factor] = unitOf(bytes);
  return factor === 1 ? `${bytes} B` : `${(Math.floor(bytes / (factor / KIB)) / KIB).toFixed(2)} ${unit}`;
}

function share(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  return percent >= 9.95 || part === 0 ? `${percent.toFixed(0)}%` : `${percent.toFixed(1)}%`;
}

function place(source) {
  return source ? `${source.file.split("/").pop()}:${source.line}` : "";
}

/** What places are sorted by: lines as numbers. */
function placeInOrder(source) {
  return source ? `${source.file.split("/").pop()}:${String(source.line).padStart(9, "0")}` : "";
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

/** The last entry whose point is at or before a point; -1 where there is none. */
function indexAt(list, point, of) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= point) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function liveAt(curve, point) {
  const at = indexAt(curve, point, (live) => live.point);
  return at < 0 ? 0 : curve[at].bytes;
}

/** What stands at a program point; of a long program at one near it. */
function stepOf({ at, instructions, sources, lines }, point) {
  const index = at ? indexAt(at, point, (known) => known) : point;
  const isOther = at && at[index] !== point;
  return { name: (isOther ? "near " : "") + (instructions[index] || ""), source: lines[sources[index]] || "" };
}

/** Whether a key belongs to the browser: printing, its own zoom, its history. */
function isForBrowser(event) {
  return event.ctrlKey || event.metaKey || event.altKey;
}

function isKnown(figure) {
  return figure !== null && figure !== undefined;
}

/** When a buffer is alive: from its first step to its last, both included, or in parts where gaps are known. */
function rangesOf({ start, end, ranges, view }) {
  if (!isKnown(start)) return [];
  return (view ? view.ranges : ranges) || [[start, end]];
}

/** The curve that the live ranges of buffers sum to. */
function sumOf(buffers, points) {
  const changes = new Map([[0, 0]]);
  const add = (point, bytes) => changes.set(point, (changes.get(point) || 0) + bytes);
  for (const buffer of buffers) {
    for (const [from, to] of rangesOf(buffer)) {
      add(from, buffer.bytes);
      add(to + 1, -buffer.bytes);
    }
  }
  let bytes = 0;
  const order = [...changes.entries()].sort((a, b) => a[0] - b[0]);
  return order.map(([point, change]) => ({ point, bytes: (bytes += change) })).filter((live) => live.point < points);
}

/** Buttons of which one is pressed: values with their words. */
function choices(label, values, chosen, act) {
  const buttons = values.map(([value, words]) => h("button", { type: "button", "aria-pressed": String(value === chosen), click: (event) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === event.currentTarget));
    act(value);
  } }, words));
  return h("span", { role: "group", "aria-label": label, class: "choices" }, buttons);
}

const colours = new Map();
/** A colour of the style sheet as the page has it now. */
function colour(name) {
  if (!colours.has(name)) {
    const probe = h("span", { style: { color: `var(--${name})`, display: "none" } });
    document.body.append(probe);
    colours.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return colours.get(name);
}

/** A canvas as wide as its place, at the screen's resolution. */
function prepare(canvas, height) {
  const width = Math.max(200, canvas.parentElement.clientWidth - 2);
  const ratio = window.devicePixelRatio || 1;
  const [right, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== right || canvas.height !== down) [canvas.width, canvas.height] = [right, down];
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.reset();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}
