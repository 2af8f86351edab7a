// A buffer in; all that is known of it, in words, out.

/** `while.4{6}`: which part of an instruction's result it is. */
function nameOf(buffer) {
  return buffer.instruction + (buffer.index ? `{${buffer.index.join(",")}}` : "");
}

function drawCard(page) {
  const buffer = page.selected === null ? null : page.buffers[page.selected];
  page.card.classList.toggle("open", buffer !== null);
  page.card.replaceChildren(...(buffer ? cardOf(page, buffer)
    : [h("p", { class: "quiet" }, "Choose a buffer in the map, the table or the treemap: its card stands here.")]));
}

function cardOf(page, buffer) {
  const { view } = buffer;
  const pair = (name, value) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []);
  return [
    h("div", { class: "spread" }, h("h3", { id: "card-title" }, nameOf(buffer)), closeButton(page)),
    h("div", {}, h("span", { class: "swatch", style: { background: `var(--${view.category})` } }), CATEGORIES[view.category],
      buffer.is_donated ? ", donated" : "", isKnown(buffer.parameter) ? `, parameter ${buffer.parameter}` : ""),
    h("dl", {},
      pair("size", sizeWords(buffer)), pair("alive", aliveWords(page, buffer)), pair("op_name", buffer.op_name),
      pair("line", place(buffer.source)), pair("shape", h("span", { class: "mono" }, buffer.shape)), pair("layout", view.layout),
      pair("memory", placeInMemory(page, buffer)), pair("values", buffer.values > 1 ? `${buffer.values} values share it` : ""),
      pair("aliases", names(page, view.aliases)), pair("users", names(page, view.users, view.more_users)),
      pair("equal", equals(page, buffer)), pair("stack", stackOf(buffer)), pair("HLO", hloOf(view, page.module.file))),
  ];
}

function closeButton(page) {
  return h("button", { type: "button", class: "close", "aria-label": "Close the card", click: () => page.select(null) }, "✕");
}

function sizeWords(buffer) {
  if (buffer.lost === 0) return size(buffer.bytes);
  const factor = (buffer.bytes / Math.max(1, buffer.unpadded_bytes)).toFixed(1);
  return `${size(buffer.bytes)}, ${size(buffer.unpadded_bytes)} without padding (${factor} times as much)`;
}

function aliveWords(page, buffer) {
  if (!isKnown(buffer.start)) return "not known";
  const MOST = 6;
  const ranges = rangesOf(buffer);
  const words = ranges.slice(0, MOST).map(([start, end]) => `${start}–${end}`).join(", ") + (ranges.length > MOST ? ", …" : "");
  const to = (words, point) => h("button", { type: "button", class: "link", click: () => page.movePoint(point) }, words);
  return [`steps ${words} of ${page.points} `, to("to its start", buffer.start), " ", to("to its end", buffer.end)];
}

function placeInMemory(page, buffer) {
  const offset = isKnown(buffer.offset_bytes) ? `, offset ${buffer.offset_bytes}` : "";
  return `${spaceName(page, buffer.memory_space)}, allocation ${buffer.allocation}${offset}`;
}

function spaceName(page, space) {
  const known = page.module.spaces.find((other) => other.memory_space === space);
  return space === 0 ? page.module.memory : known ? known.name : `memory space ${space}`;
}

/** Names of instructions; those with a buffer on the page lead to it. */
function names(page, all, more) {
  if (!all || all.length === 0) return null;
  return h("span", { class: "mono" }, all.map((name, at) => [at > 0 ? ", " : "", linkTo(page, page.byName.get(name), name)]), more ? ` and ${more} more` : "");
}

function linkTo(page, id, words) {
  return id === undefined ? words : h("button", { type: "button", class: "link", click: () => page.select(id) }, words);
}

/** The others of a group of equal buffers. */
function equals(page, buffer) {
  const MOST = 30;
  const group = page.grouped ? page.group : null;
  if (!group || group.length < 2 || !group.includes(buffer)) return null;
  return h("span", { class: "mono" }, `${group.length}: `, group.slice(0, MOST).map((member, at) => [at > 0 ? ", " : "", linkTo(page, member.id, nameOf(member))]),
    group.length > MOST ? " …" : "");
}

function stackOf(buffer) {
  const frames = (buffer.stack || []).map((frame) => h("div", { class: "mono" }, `${frame.file}:${frame.line} ${frame.function || ""}`));
  return frames.length ? h("details", {}, h("summary", {}, plural(frames.length, "frame")), frames) : null;
}

function hloOf(view, file) {
  if (!view.text) return null;
  const copy = h("button", { type: "button", class: "link", click: (event) => {
    const button = event.currentTarget;
    navigator.clipboard.writeText(view.text).then(() => { button.textContent = "copied"; }, () => { button.textContent = "not allowed"; });
  } }, "copy");
  return [h("span", { class: "mono hlo" }, view.text), h("div", { class: "quiet small" },
    view.text.endsWith("…") ? "shortened; " : "", view.line ? `line ${view.line} of ${file.split("/").pop()} ` : "", copy)];
}
